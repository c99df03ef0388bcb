// Copies bf16 matrices into the layout that a matrix unit reads, at the speed of memory.
#pragma once

#include <cstdint>

#include "engine/device/cpu/gemm.h"
#include "engine/device/cpu/transposed.h"
#include "engine/io/half.h"

namespace shardlens::cpu {

/// The extents of copies are multiples of these, padded with zeros.
inline constexpr int64_t kPairedRows = 32, kPairedCols = 64;

/// Copies B into the layout of its product, oneDNN's BA16a64b2a: strips of 64 columns, and in a strip pairs
/// of rows, with the two numbers of a column next to each other. `b` is B [k, n]; with `transposed` it is
/// stored as [n, k]. `to` has room for both padded extents.
void copy_in_pairs(Rows<const Bf16> b, bool transposed, int64_t k, int64_t n, Bf16* to);

/// Copies A, stored as [k, m], as [m, k] with padded rows. `to` has room for m padded to kPairedRows.
void copy_transposed(Rows<const Bf16> a, int64_t m, int64_t k, Bf16* to);

}  // namespace shardlens::cpu
