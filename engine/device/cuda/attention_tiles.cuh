// Attention by tiles in shared memory, with plain arithmetic in the computed type. It works for every dtype;
// fp32 and fp64 always use it. 16 × 16 threads share a tile of queries × keys. Thread (ty, tx) has the
// elements (ty + 16i, tx + 16j). A score is always summed over the head's width in the same order, so the
// backward pass computes a probability again with the same bits.
#pragma once

#include "engine/device/cuda/attention.cuh"

namespace shardlens::cuda {

inline constexpr int kSide = 16;
inline constexpr int kTileThreads = kSide * kSide;

/// The score of a key that no query may see. It is finite, so that a row with only such keys becomes uniform
/// and not NaN.
template <class T>
inline constexpr T kHidden = T(-1e30);

/// Tiles for heads of up to kWidth, as large as possible with four of them in shared memory.
template <class T, int kWidth>
struct Tile {
  static constexpr int kPer =
      static_cast<int>(sizeof(T)) * kWidth <= 512 ? 2 : 1;  // elements a thread, each way
  static constexpr int kRows = kSide * kPer;
  static constexpr int kColumns = kWidth / kSide;  // of the width, a thread
  using Matrix = T[kRows][kWidth + 1];  // odd stride: neighbours in a column are in different banks
  using Block = T[kRows][kRows + 1];    // queries × keys
  using Part = T[kPer][kPer];           // a thread's elements of a Block
  using Rows = T[kPer][kColumns];       // and of a result [kRows, kWidth]

  static constexpr size_t bytes(int matrices, int blocks) {
    return static_cast<size_t>(matrices) * sizeof(Matrix) + static_cast<size_t>(blocks) * sizeof(Block);
  }
};

__device__ __forceinline__ int tile_y() {
  return static_cast<int>(threadIdx.x) / kSide;
}
__device__ __forceinline__ int tile_x() {
  return static_cast<int>(threadIdx.x) % kSide;
}

/// Loads the rows [first, first + count) of a head. Elements that do not exist become 0.
template <class T, int kWidth, class S>
__device__ __forceinline__ void load_tile(const HeadRows<const S>& rows, int64_t first, int64_t count,
                                          int64_t head, int64_t head_dim,
                                          typename Tile<T, kWidth>::Matrix& tile) {
  for (int i = threadIdx.x; i < Tile<T, kWidth>::kRows * kWidth; i += kTileThreads) {
    const int row = i / kWidth, col = i % kWidth;
    tile[row][col] = row < count && col < head_dim ? widen(rows.at(first + row, head, head_dim)[col]) : T(0);
  }
}

/// part = this thread's elements of A·Bᵀ.
template <class T, int kWidth>
__device__ __forceinline__ void multiply_rows(const typename Tile<T, kWidth>::Matrix& a,
                                              const typename Tile<T, kWidth>::Matrix& b, int64_t head_dim,
                                              typename Tile<T, kWidth>::Part& part) {
  constexpr int kPer = Tile<T, kWidth>::kPer;
#pragma unroll
  for (int i = 0; i < kPer; ++i)
#pragma unroll
    for (int j = 0; j < kPer; ++j) part[i][j] = 0;
#pragma unroll 4
  for (int d = 0; d < head_dim; ++d) {
    T left[kPer], right[kPer];
#pragma unroll
    for (int i = 0; i < kPer; ++i) left[i] = a[tile_y() + kSide * i][d];
#pragma unroll
    for (int j = 0; j < kPer; ++j) right[j] = b[tile_x() + kSide * j][d];
#pragma unroll
    for (int i = 0; i < kPer; ++i)
#pragma unroll
      for (int j = 0; j < kPer; ++j) part[i][j] = fma(left[i], right[j], part[i][j]);
  }
}

/// result += block·rows, or blockᵀ·rows, for this thread's rows ty + 16i and columns tx + 16c.
template <class T, int kWidth, bool kTransposed>
__device__ __forceinline__ void add_product(const typename Tile<T, kWidth>::Block& block,
                                            const typename Tile<T, kWidth>::Matrix& rows,
                                            typename Tile<T, kWidth>::Rows& result) {
  using Size = Tile<T, kWidth>;
  for (int inner = 0; inner < Size::kRows; ++inner) {
    T left[Size::kPer];
#pragma unroll
    for (int i = 0; i < Size::kPer; ++i) {
      const int row = tile_y() + kSide * i;
      left[i] = kTransposed ? block[inner][row] : block[row][inner];
    }
#pragma unroll
    for (int c = 0; c < Size::kColumns; ++c) {
      const T right = rows[inner][tile_x() + kSide * c];
#pragma unroll
      for (int i = 0; i < Size::kPer; ++i) result[i][c] = fma(left[i], right, result[i][c]);
    }
  }
}

/// Stores this thread's part of a result [count, head_dim].
template <class T, int kWidth, class S>
__device__ __forceinline__ void store_rows(const typename Tile<T, kWidth>::Rows& result,
                                           const HeadRows<S>& rows, int64_t first, int64_t count,
                                           int64_t head, int64_t head_dim) {
  using Size = Tile<T, kWidth>;
#pragma unroll
  for (int i = 0; i < Size::kPer; ++i) {
    const int row = tile_y() + kSide * i;
    if (row >= count) continue;
    S* out = rows.at(first + row, head, head_dim);
#pragma unroll
    for (int c = 0; c < Size::kColumns; ++c) {
      const int col = tile_x() + kSide * c;
      if (col < head_dim) out[col] = narrow<S>(result[i][c]);
    }
  }
}

/// Calls body(std::integral_constant<int, width>) with the smallest tile width that holds a head.
template <class Body>
void with_width(int64_t head_dim, Body&& body) {
  if (head_dim <= 64) return body(std::integral_constant<int, 64>{});
  if (head_dim <= 128) return body(std::integral_constant<int, 128>{});
  if (head_dim <= 256) return body(std::integral_constant<int, 256>{});
  throw request_error("attention on the GPU supports heads of up to 256 numbers, not " +
                      std::to_string(head_dim) + ": choose more heads");
}

}  // namespace shardlens::cuda
