// The softmax of one row of attention scores, the same again from the row's statistics, and its gradient: the
// work on a block of P between its two products. Only the first `valid` elements of a row count.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "engine/device/cpu/vector.h"

namespace shardlens::cpu {

/// Two numbers that give a row of P from its scores: P = exp(scale·score − top)·inverse.
template <class T>
struct RowStatistics {
  T top = 0, inverse = 0;
};

template <class T>
[[gnu::always_inline]] inline Vector<T> exponential(const T* scores, auto count, T scale, T top) {
  const Vector<T> score = load_part(scores, count, -std::numeric_limits<T>::infinity());
  return exp<T>(multiply_add<T>(score, Vector<T>{} + scale, Vector<T>{} - top));
}

/// scores[0, valid) -> softmax(scale·scores); [valid, width) -> 0.
template <class T>
RowStatistics<T> softmax_row(T* scores, int64_t valid, int64_t width, T scale) {
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  const Vector<T> largest =
      fold_vectors<T>(valid, Vector<T>{} + kLowest, [&](Vector<T> so_far, int64_t i, auto n) {
        const Vector<T> v = load_part(scores + i, n, kLowest);
        return v > so_far ? v : so_far;
      });
  const T top = max_lanes<T>(largest) * scale;
  const Vector<T> sums = fold_vectors<T>(valid, Vector<T>{}, [&](Vector<T> so_far, int64_t i, auto n) {
    const Vector<T> e = exponential(scores + i, n, scale, top);
    store_part<T>(scores + i, e, n);
    return so_far + e;
  });
  const T inverse = T(1) / sum_lanes<T>(sums);
  for_vectors<T>(valid, [&](int64_t i, auto n) {
    store_part<T>(scores + i, load_part(scores + i, n, T(0)) * inverse, n);
  });
  std::fill(scores + valid, scores + width, T(0));
  return {top, inverse};
}

/// The same result from the row's statistics.
template <class T>
void softmax_row_again(T* scores, int64_t valid, int64_t width, T scale, RowStatistics<T> row) {
  for_vectors<T>(valid, [&](int64_t i, auto n) {
    store_part<T>(scores + i, exponential(scores + i, n, scale, row.top) * row.inverse, n);
  });
  std::fill(scores + valid, scores + width, T(0));
}

/// dprobs[0, valid) -> dS = P∘(dP − delta)·scale; [valid, width) -> 0. With dropout `dropped` is P∘M, and
/// P∘dP = dropped∘dprobs. Without dropout it is null.
template <class T>
void softmax_grad_row(const T* probs, const T* dropped, T* dprobs, int64_t valid, int64_t width, T delta,
                      T scale) {
  for_vectors<T>(valid, [&](int64_t i, auto n) {
    const Vector<T> p = load_part(probs + i, n, T(0)), d = load_part(dprobs + i, n, T(0));
    const Vector<T> product =
        dropped == nullptr ? p * (d - delta) : load_part(dropped + i, n, T(0)) * d - p * delta;
    store_part<T>(dprobs + i, product * scale, n);
  });
  std::fill(dprobs + valid, dprobs + width, T(0));
}

}  // namespace shardlens::cpu
