// The layout of the matrix units' operands: the places of a warp's 32 lanes in tiles of 16-bit numbers, for
// PTX's ldmatrix (four 8 × 8 matrices at a time) and mma.m16n8k16. These are only index maps, so a host test
// can combine them by the instructions' definitions and compare the result with a matrix product.
#pragma once

#include "engine/device/cuda/portable.h"

namespace shardlens::cuda {

struct FragmentPlace {
  int row, col;
};

/// The row that a lane points to when A [16, 16] is loaded as the left operand of an mma. The matrices are
/// top left, bottom left, top right, bottom right.
SHARDLENS_BOTH FragmentPlace left_place(int lane) {
  return {lane % 16, lane / 16 * 8};
}

/// The same when B [16 columns of the product, 16 terms of the sum] is loaded as the right operands of two
/// mma, columns 0 … 7 and 8 … 15. The two halves of each operand's sum are next to each other.
SHARDLENS_BOTH FragmentPlace right_place(int lane) {
  return {lane % 8 + lane / 16 * 8, lane / 8 % 2 * 8};
}

/// The same when B is stored as [16 terms of the sum, 16 columns of the product] and the load transposes it.
SHARDLENS_BOTH FragmentPlace right_transposed_place(int lane) {
  return {lane % 8 + lane / 8 % 2 * 8, lane / 16 * 8};
}

/// The place of a lane's element 0 … 3 in a product [16, 8].
SHARDLENS_BOTH FragmentPlace result_place(int lane, int element) {
  return {lane / 4 + element / 2 * 8, lane % 4 * 2 + element % 2};
}

}  // namespace shardlens::cuda
