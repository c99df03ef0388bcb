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

/// 16 rows of a tile as left operands, one column of 16 after the other. They are read again each time.
template <class S, int kWidth>
struct LeftRows {
  const S* own;  // the lane's address

  __device__ __forceinline__ explicit LeftRows(const S* rows) {
    const FragmentPlace place = left_place(static_cast<int>(threadIdx.x) % 32);
    own = rows + place.row * kRowStride<kWidth> + place.col;
  }
  __device__ __forceinline__ void read(int column, uint32_t (&out)[4]) const {
    load_matrices(own + column * 16, out);
  }
};

/// The same, but read once and kept in kWidth / 4 registers of the warp.
template <class S, int kWidth>
struct KeptLeftRows {
  uint32_t columns[kWidth / 16][4];

  __device__ __forceinline__ explicit KeptLeftRows(const LeftRows<S, kWidth>& rows) {
    __syncwarp();  // the matrix units' instructions need all lanes together
#pragma unroll
    for (int column = 0; column < kWidth / 16; ++column) rows.read(column, columns[column]);
  }
  __device__ __forceinline__ void read(int column, uint32_t (&out)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) out[i] = columns[column][i];
  }
};

/// sums [16, 8N] += A·Bᵀ with the 16 rows `a`, of one of the two types above, and 8N rows from `b` on. All
/// have length kWidth.
template <class S, int kWidth, int N, class A>
__device__ __forceinline__ void rows_by_rows(const A& a, const S* b, float (&sums)[N][4]) {
  static_assert(kWidth % 16 == 0 && N % 2 == 0);
  const FragmentPlace in_b = right_place(static_cast<int>(threadIdx.x) % 32);
  __syncwarp();
  b += in_b.row * kRowStride<kWidth> + in_b.col;
#pragma unroll
  for (int column = 0; column < kWidth / 16; ++column) {
    uint32_t left[4];
    a.read(column, left);
#pragma unroll
    for (int n = 0; n < N; n += 2) {
      uint32_t right[4];
      load_matrices(b + n * 8 * kRowStride<kWidth> + column * 16, right);
      multiply_add<S>(sums[n], left, right[0], right[1]);
      multiply_add<S>(sums[n + 1], left, right[2], right[3]);
    }
  }
}

/// sums [16, kWidth] += block·B with the rounded block [16, 8N], in the layout of rows_by_rows(), and 8N rows
/// from `b` on.
template <class S, int kWidth, int N>
__device__ __forceinline__ void block_by_rows(const float (&block)[N][4], const S* b,
                                              float (&sums)[kWidth / 8][4]) {
  static_assert(kWidth % 16 == 0 && N % 2 == 0);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const FragmentPlace in_b = right_transposed_place(lane);
  __syncwarp();
  b += in_b.row * kRowStride<kWidth> + in_b.col;
#pragma unroll
  for (int k = 0; k < N; k += 2) {
    const uint32_t left[4] = {pack_pair<S>(block[k][0], block[k][1]), pack_pair<S>(block[k][2], block[k][3]),
                              pack_pair<S>(block[k + 1][0], block[k + 1][1]),
                              pack_pair<S>(block[k + 1][2], block[k + 1][3])};
#pragma unroll
    for (int n = 0; n < kWidth / 8; n += 2) {
      uint32_t right[4];
      load_transposed(b + k * 8 * kRowStride<kWidth> + n * 8, right);
      multiply_add<S>(sums[n], left, right[0], right[1]);
      multiply_add<S>(sums[n + 1], left, right[2], right[3]);
    }
  }
}

}  // namespace shardlens::cuda
