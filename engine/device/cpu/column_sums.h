// Sums over the rows of a matrix, column by column, such as a bias gradient. Rows are first summed in groups,
// and then the groups. This shortens the chain of roundings, and each thread can take a group. The order does
// not depend on the threads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "engine/device/cpu/parallel.h"
#include "engine/device/cpu/vector.h"

namespace shardlens::cpu {

inline constexpr int64_t kRowGroup = 32;

/// sums[s][cols] = Σ over the rows of the values that add_row(row, own) adds to own[s·cols … (s + 1)·cols).
/// With `accumulate` adds them to sums. One thread adds each row, once.
template <class T, size_t kSums, class AddRow>
void sum_rows(int threads, int64_t rows, int64_t cols, const std::array<T*, kSums>& sums, bool accumulate,
              const AddRow& add_row) {
  constexpr int64_t kStrip = 512;  // columns for which a thread adds the groups at a time
  constexpr int64_t kCount = static_cast<int64_t>(kSums);
  static thread_local std::vector<T> partial;
  const int64_t groups = (rows + kRowGroup - 1) / kRowGroup;
  partial.assign(static_cast<size_t>(groups * kCount * cols), T(0));
  parallel_for(threads, groups, [&, partial = partial.data()](int64_t group) {
    for (int64_t row = group * kRowGroup; row < std::min(rows, (group + 1) * kRowGroup); ++row)
      add_row(row, partial + group * kCount * cols);
  });
  const int64_t strips = (cols + kStrip - 1) / kStrip;
  parallel_for(threads, kCount * strips, [&, partial = partial.data()](int64_t item) {
    const int64_t sum = item / strips, first = item % strips * kStrip, end = std::min(cols, first + kStrip);
    T* const total = sums[static_cast<size_t>(sum)];
    if (!accumulate) std::fill(total + first, total + end, T(0));
    for (int64_t group = 0; group < groups; ++group)
      for (int64_t i = first; i < end; ++i) total[i] += partial[(group * kCount + sum) * cols + i];
  });
}

/// sums[cols] = Σ over the rows of y[rows, cols]. With `accumulate` adds to sums. Before a row is summed,
/// make(at, count) is called for its `count` elements of y from `at` on. It may write them: the sum then
/// finds them in the cache.
template <class S, class Make, class T = Computed<S>>
void sum_columns(int threads, int64_t rows, int64_t cols, const S* y, T* sums, bool accumulate,
                 const Make& make) {
  sum_rows<T, 1>(threads, rows, cols, {sums}, accumulate, [&](int64_t row, T* own) {
    make(row * cols, cols);
    const S* in = y + row * cols;
    for_vectors<T>(cols, [&](int64_t i, auto n) {
      store_part(own + i, load_part(own + i, n, T(0)) + load_part(in + i, n, T(0)), n);
    });
  });
}

}  // namespace shardlens::cpu
