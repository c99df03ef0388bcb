// One row of C in the type to compute in: started from bias or C, added to, and rounded once.
#pragma once

#include <algorithm>

#include "engine/device/cpu/aligned.h"
#include "engine/device/cpu/vector.h"
#include "engine/device/device.h"

namespace shardlens::cpu {

/// Sets the sums of a row of C to their start: C, the bias, or 0. There are cols.size() sums; `c` is that
/// part of the row.
template <class S, class Result>
void begin_row(const Gemm& gemm, const Result* c, Range cols, Computed<S>* sums) {
  if (gemm.accumulate)
    convert_row(c, cols.size(), sums);
  else if (gemm.bias != nullptr)
    convert_row(static_cast<const S*>(gemm.bias) + cols.begin, cols.size(), sums);
  else
    std::fill_n(sums, cols.size(), Computed<S>(0));
}

/// Computes some columns of a C of one row. add(x, sums) adds x·B for these columns, x [k]. B is used once,
/// so it is widened in registers, not in scratch, and read in memory order.
template <class S, class Result, class Add>
void compute_row(const Gemm& gemm, Range cols, const Add& add) {
  static thread_local Aligned<Computed<S>> row, sums;
  row.resize(static_cast<size_t>(gemm.k));
  sums.resize(static_cast<size_t>(cols.size()));
  Result* const c = static_cast<Result*>(gemm.c) + cols.begin;
  convert_row(static_cast<const S*>(gemm.a), gemm.k, row.data());
  begin_row<S>(gemm, c, cols, sums.data());
  add(row.data(), sums.data());
  convert_row(sums.data(), cols.size(), c);
}

}  // namespace shardlens::cpu
