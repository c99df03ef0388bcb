// Stores the cells of a picture in a file with 16 bits each: IEEE fp16 times a power of two. The power is
// chosen by the largest cell, so that the smaller cells have all of fp16's range.
#pragma once

#include <cstdint>

namespace shardlens {

/// Returns the exponent e of the power: halves[i] * 2^e is within 2^-11 of cells[i]. For a cell smaller than
/// 2^-29 of the largest, it is within 2^-39 of the largest. NaN and infinities stay as they are.
int narrow_cells(const float* cells, int64_t count, uint16_t* halves);

/// The inverse of narrow_cells().
void widen_cells(const uint16_t* halves, int64_t count, int exponent, float* cells);

inline constexpr int kLeastCellExponent = -163;    ///< of the smallest fp32 number
inline constexpr int kGreatestCellExponent = 113;  ///< of the largest

}  // namespace shardlens
