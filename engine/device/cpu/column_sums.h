// Sums over rows, by columns, as a bias gradient is one. Rows are summed in groups before a group joins the
// total, which shortens the chain of roundings; the order depends on neither the threads nor how wide the
// strips are that they take.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/device/cpu/parallel.h"
#include "engine/device/cpu/vector.h"

namespace shardlens::cpu {

inline constexpr int64_t kRowGroup = 32;

/// sums[cols] = Σ over the rows of y[rows, cols], or that added to what is there. Before an element is summed
/// make(at, count) is called with the `count` consecutive elements of y from `at` on that it is one of: work
/// that writes y can be done there, while its rows are in the cache.
template <class S, class Make, class T = Computed<S>>
void sum_columns(int threads, int64_t rows, int64_t cols, const S* y, T* sums, bool accumulate,
                 const Make& make) {
  constexpr int64_t kWidest = 2048, kShared = 256;
  const int64_t strip =
      threads > 1 ? kShared : kWidest;  // narrower where there is more than one to have some
  parallel_for(threads, (cols + strip - 1) / strip, [&](int64_t index) {
    const int64_t first = index * strip, width = std::min(strip, cols - first);
    T total[kWidest], partial[kWidest];
    if (accumulate)
      std::copy_n(sums + first, width, total);
    else
      std::fill_n(total, width, T(0));
    for (int64_t top = 0; top < rows; top += kRowGroup) {
      std::fill_n(partial, width, T(0));
      for (int64_t row = top; row < std::min(rows, top + kRowGroup); ++row) {
        make(row * cols + first, width);
        const S* in = y + row * cols + first;
        for_vectors<T>(width, [&](int64_t i, auto n) {
          store_part(partial + i, load_part(partial + i, n, T(0)) + load_part(in + i, n, T(0)), n);
        });
      }
      for (int64_t i = 0; i < width; ++i) total[i] += partial[i];
    }
    std::copy_n(total, width, sums + first);
  });
}

}  // namespace shardlens::cpu
