// The matrix product on one thread, which all matrix operations of the CPU device use.
#pragma once

#include <cstdint>

#include "engine/program/layout.h"

namespace shardlens::cpu {

/// A row-major matrix in memory: row r begins at first + r * stride.
template <class T>
struct Rows {
  T* first = nullptr;
  int64_t stride = 0;

  T* at(int64_t row) const { return first + row * stride; }
  Rows from(int64_t row, int64_t col = 0) const { return {at(row) + col, stride}; }
};

/// C[m, n] = op(A)·op(B), where op(A) is [m, k] and op(B) is [k, n] after the transposition. With
/// `accumulate` the product is added to C. With k = 0 it is 0.
template <class T>
struct Product {
  bool transpose_a = false;
  bool transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  Rows<const T> a, b;
  Rows<T> c;
  bool accumulate = false;
};

/// True for a Product or Gemm of a single row that is not transposed. gemv.h computes it.
bool is_one_row(const auto& product) {
  return product.m == 1 && !product.transpose_a;
}

/// Computes the product on the calling thread: a single row with gemv.h, otherwise with whole_product.h. An
/// element's bits do not depend on the part of C that it is computed with, a shard's or a thread's. The part
/// must have at least two columns and, if B is transposed, 16 rows. In fp64 its columns must begin and end at
/// multiples of 48 and its rows at multiples of 16 (or where C ends).
void multiply(const Product<float>& product);
void multiply(const Product<double>& product);

/// The cut of C for threads: `rows` × `cols` tiles, each large enough to be worth its packing.
struct Grid {
  int64_t rows = 1, cols = 1;
};
Grid choose_grid(int threads, int64_t m, int64_t n);

struct Tile {
  Range rows, cols;
};
/// Tile `index` of [m, n], one of grid.rows × grid.cols.
Tile tile_of(const Grid& grid, int64_t m, int64_t n, int64_t index);

}  // namespace shardlens::cpu
