// Where the matrix units want their operands: the places of a warp's 32 lanes in tiles of 16-bit numbers, for
// PTX's ldmatrix (four 8 × 8 matrices at a time) and mma.m16n8k16. Index maps alone, so that a host test can
// put them together by the instructions' definitions and compare with a matrix product.
#pragma once

#include "engine/device/cuda/portable.h"

namespace shardlens::cuda {

struct FragmentPlace {
  int row, col;
};

/// The row a lane points at when A [16, 16] is loaded as an mma's left operand: matrices top left, bottom
/// left, top right, bottom right.
SHARDLENS_BOTH FragmentPlace left_place(int lane) {
  return {lane % 16, lane / 16 * 8};
}

/// When B [16 columns of the product, 16 of the sum] is loaded as the right operands of two mma, columns
/// 0 … 7 and 8 … 15: each has its two halves of the sum side by side.
SHARDLENS_BOTH FragmentPlace right_place(int lane) {
  return {lane % 8 + lane / 16 * 8, lane / 8 % 2 * 8};
}

/// When B lies the other way, [16 of the sum, 16 columns of the product], and is transposed as it is loaded.
SHARDLENS_BOTH FragmentPlace right_transposed_place(int lane) {
  return {lane % 8 + lane / 8 % 2 * 8, lane / 16 * 8};
}

/// The place of a lane's element 0 … 3 of a product [16, 8].
SHARDLENS_BOTH FragmentPlace result_place(int lane, int element) {
  return {lane / 4 + element / 2 * 8, lane % 4 * 2 + element % 2};
}

}  // namespace shardlens::cuda
