// Products of 16-bit matrices in shared memory by a warp on the matrix units, summed in fp32. Attention needs
// two forms. Rows by rows gives scores. A block of scores by rows takes the rounded result of the first form
// as its left operand, which stays in registers.
#pragma once

#include "engine/device/cuda/fragments.h"
#include "engine/device/cuda/instructions.cuh"
#include "engine/device/cuda/operation.cuh"

namespace shardlens::cuda {

/// The row stride of a tile in shared memory. It has 16 bytes more than the width, so that eight neighbours
/// in a column are in different banks.
template <int kWidth>
inline constexpr int kRowStride = kWidth + 8;

/// Rounds and packs two neighbouring numbers, the first one in the low half.
template <class S>
__device__ __forceinline__ uint32_t pack_pair(float first, float second) {
  uint32_t bits;
  if constexpr (std::is_same_v<S, __nv_bfloat16>) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(first, second);
    memcpy(&bits, &pair, sizeof bits);
  } else {
    const __half2 pair = __floats2half2_rn(first, second);
    memcpy(&bits, &pair, sizeof bits);
  }
  return bits;
}

/// 16 · kTiles rows of a tile in shared memory as left operands, one column of 16 after the other. The first
/// kKept columns are read once and stay in 4 · kKept registers for each 16 rows. The others are read each
/// time.
template <class S, int kWidth, int kTiles, int kKept>
struct LeftRows {
  static_assert(kKept <= kWidth / 16);
  const S* own;  // the lane's address
  uint32_t kept[kTiles][kKept > 0 ? kKept : 1][4];

  /// If columns are kept, the rows have come.
  __device__ __forceinline__ explicit LeftRows(const S* rows) {
    const FragmentPlace place = left_place(static_cast<int>(threadIdx.x) % 32);
    own = rows + place.row * kRowStride<kWidth> + place.col;
    if constexpr (kKept > 0) {
      __syncwarp();  // the matrix units' instructions need all lanes together
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile)
#pragma unroll
        for (int column = 0; column < kKept; ++column) load(tile, column, kept[tile][column]);
    }
  }
  __device__ __forceinline__ void read(int tile, int column, uint32_t (&out)[4]) const {
    if (column >= kKept) return load(tile, column, out);
#pragma unroll
    for (int i = 0; i < 4; ++i) out[i] = kept[tile][column][i];
  }

 private:
  __device__ __forceinline__ void load(int tile, int column, uint32_t (&out)[4]) const {
    load_matrices(own + tile * 16 * kRowStride<kWidth> + column * 16, out);
  }
};

/// sums [16 · kTiles, 8N] += A·Bᵀ with the rows `a` and 8N rows from `b` on. All have length kWidth. What is
/// loaded of B serves all tiles of A.
template <class S, int kWidth, int kTiles, int kKept, int N>
__device__ __forceinline__ void rows_by_rows(const LeftRows<S, kWidth, kTiles, kKept>& a, const S* b,
                                             float (&sums)[kTiles][N][4]) {
  static_assert(kWidth % 16 == 0 && N % 2 == 0);
  const FragmentPlace in_b = right_place(static_cast<int>(threadIdx.x) % 32);
  __syncwarp();
  b += in_b.row * kRowStride<kWidth> + in_b.col;
#pragma unroll
  for (int column = 0; column < kWidth / 16; ++column) {
    uint32_t left[kTiles][4];
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) a.read(tile, column, left[tile]);
#pragma unroll
    for (int n = 0; n < N; n += 2) {
      uint32_t right[4];
      load_matrices(b + n * 8 * kRowStride<kWidth> + column * 16, right);
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        multiply_add<S>(sums[tile][n], left[tile], right[0], right[1]);
        multiply_add<S>(sums[tile][n + 1], left[tile], right[2], right[3]);
      }
    }
  }
}

/// sums [16 · kTiles, kWidth] += block·B with the rounded block [16 · kTiles, 8N], in the layout of
/// rows_by_rows(), and 8N rows from `b` on.
template <class S, int kWidth, int kTiles, int N>
__device__ __forceinline__ void block_by_rows(const float (&block)[kTiles][N][4], const S* b,
                                              float (&sums)[kTiles][kWidth / 8][4]) {
  static_assert(kWidth % 16 == 0 && N % 2 == 0);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const FragmentPlace in_b = right_transposed_place(lane);
  __syncwarp();
  b += in_b.row * kRowStride<kWidth> + in_b.col;
#pragma unroll
  for (int k = 0; k < N; k += 2) {
    uint32_t left[kTiles][4];
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float(&pair)[4] = block[tile][k + i / 2];
        left[tile][i] = pack_pair<S>(pair[i % 2 * 2], pair[i % 2 * 2 + 1]);
      }
#pragma unroll
    for (int n = 0; n < kWidth / 8; n += 2) {
      uint32_t right[4];
      load_transposed(b + k * 8 * kRowStride<kWidth> + n * 8, right);
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        multiply_add<S>(sums[tile][n], left[tile], right[0], right[1]);
        multiply_add<S>(sums[tile][n + 1], left[tile], right[2], right[3]);
      }
    }
  }
}

}  // namespace shardlens::cuda
