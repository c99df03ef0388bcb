// Sums over rows, by columns, as a bias gradient is one. Rows are summed in groups before a group joins the
// total, which shortens the chain of roundings and lets threads take a group each; the order does not depend
// on them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "engine/device/cpu/parallel.h"
#include "engine/device/cpu/vector.h"

namespace shardlens::cpu {

inline constexpr int64_t kRowGroup = 32;

/// sums[s][cols] = Σ over the rows of what add_row(row, own) adds to own[s·cols … (s + 1)·cols), or that
/// added to what is there. A row is added once, by one thread.
template <class T, size_t kSums, class AddRow>
void sum_rows(int threads, int64_t rows, int64_t cols, const std::array<T*, kSums>& sums, bool accumulate,
              const AddRow& add_row) {
  constexpr int64_t kStrip = 512;  // columns a thread adds the groups of at a time
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

/// sums[cols] = Σ over the rows of y[rows, cols], or that added to what is there. Before a row is summed
/// make(at, count) is called with its `count` elements of y from `at` on: work that writes y can be done
/// there, while it is in the cache.
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
