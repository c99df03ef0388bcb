// Copies of bf16 matrices as a matrix unit reads them, at the speed of memory.
#pragma once

#include <cstdint>

#include "engine/device/cpu/gemm.h"
#include "engine/device/cpu/transposed.h"
#include "engine/io/half.h"

namespace shardlens::cpu {

/// The extents of copies are whole multiples of these, filled up with zeros.
inline constexpr int64_t kPairedRows = 32, kPairedCols = 64;

/// B as its product reads it: strips of 64 columns, in them rows by twos, the two numbers of a column side by
/// side (oneDNN's BA16a64b2a). `b` is B [k, n]; with `transposed` it is given as [n, k]. `to` has room for
/// both extents filled up.
void copy_in_pairs(Rows<const Bf16> b, bool transposed, int64_t k, int64_t n, Bf16* to);

/// A [m, k], given as [k, m], with rows of k filled up; `to` has room for m filled up to
/// kPairedRows.
void copy_transposed(Rows<const Bf16> a, int64_t m, int64_t k, Bf16* to);

}  // namespace shardlens::cpu
