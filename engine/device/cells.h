// The cells of a picture in 16 bits each, for a file: IEEE fp16 times a power of two, by which the largest
// cell has all of fp16's range below it.
#pragma once

#include <cstdint>

namespace shardlens {

/// Returns the exponent e of that power: halves[i] * 2^e is within 2^-11 of cells[i], or within 2^-39 of the
/// largest where a cell is smaller than 2^-29 of it. NaN and infinities stay what they are.
int narrow_cells(const float* cells, int64_t count, uint16_t* halves);

/// And back.
void widen_cells(const uint16_t* halves, int64_t count, int exponent, float* cells);

inline constexpr int kLeastCellExponent = -163;    ///< of the smallest fp32 number
inline constexpr int kGreatestCellExponent = 113;  ///< of the largest

}  // namespace shardlens
