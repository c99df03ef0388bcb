// Whole products in plain C++, by the kernel of the products inside a head (head_product.h): Eigen, the one
// library for every processor, takes other kernels for the edges of a product and fuses multiply-adds only in
// some of them, so more than half of all parts had other bits than the whole. Here an element takes the same
// steps whatever is computed with it: partial sums of kTerms terms, each added in order.
#include "engine/device/cpu/whole_product.h"

#include <algorithm>

#include "engine/device/cpu/aligned.h"
#include "engine/device/cpu/head_product.h"
#include "engine/device/cpu/transposed.h"
#include "engine/device/cpu/vector.h"

namespace shardlens::cpu {

namespace {

// A partial sum's terms, and the rows and columns of C that are computed at a time: a piece of op(A), one of
// op(B) and their product stay in the second cache.
constexpr int64_t kTerms = 256, kRows = 96, kCols = 256;
// If A has fewer rows, B is used too seldom to be worth a copy.
constexpr int64_t kLeastRowsForCopy = 16;

/// op(B)'s `terms` and `cols`, row-major: the columns of a register group are then close together.
template <class T>
Rows<const T> piece_of_b(const Product<T>& product, Range terms, Range cols) {
  static thread_local Aligned<T> room;
  if (product.transpose_b)
    return turned(product.b.from(cols.begin, terms.begin), cols.size(), terms.size(), room);
  const Rows<const T> stored = product.b.from(terms.begin, cols.begin);
  if (product.m < kLeastRowsForCopy) return stored;
  const Rows<T> copy = room_for_copy(terms.size(), cols.size(), room);
  for (int64_t term = 0; term < terms.size(); ++term)
    std::copy_n(stored.at(term), cols.size(), copy.at(term));
  return {copy.first, copy.stride};
}

/// op(A)'s `rows` and `terms`, row-major.
template <class T>
Rows<const T> piece_of_a(const Product<T>& product, Range rows, Range terms) {
  static thread_local Aligned<T> room;
  if (!product.transpose_a) return product.a.from(rows.begin, terms.begin);
  return turned(product.a.from(terms.begin, rows.begin), terms.size(), rows.size(), room);
}

/// Adds [rows, cols] of sums to C, or writes them.
template <class T>
void put(Rows<const T> sums, int64_t rows, int64_t cols, bool add, Rows<T> c) {
  for (int64_t row = 0; row < rows; ++row) {
    if (!add) {
      std::copy_n(sums.at(row), cols, c.at(row));
      continue;
    }
    for_vectors<T>(cols, [from = sums.at(row), to = c.at(row)](int64_t i, auto n) {
      store_part<T>(to + i, load_part(to + i, n, T(0)) + load_part(from + i, n, T(0)), n);
    });
  }
}

/// Calls body(range) for all of [0, extent), `step` at a time.
template <class Body>
void for_pieces(int64_t extent, int64_t step, const Body& body) {
  for (int64_t begin = 0; begin < extent; begin += step) body(Range{begin, std::min(extent, begin + step)});
}

template <class T>
void multiply_by_pieces(const Product<T>& product) {
  static thread_local Aligned<T> room(kRows * kCols);
  for_pieces(product.n, kCols, [&](Range cols) {
    for_pieces(product.k, kTerms, [&](Range terms) {
      const Rows<const T> b = piece_of_b(product, terms, cols);
      for_pieces(product.m, kRows, [&](Range rows) {
        const Rows<const T> a = piece_of_a(product, rows, terms);
        const Rows<T> sums{room.data(), kCols};
        multiply(HeadProduct<T>{.a = {a.first, a.stride, 1}, .b = b, .c = sums}, rows.size(), cols.size(),
                 [&](Range) {
                   return Needed{cols.size(), {0, terms.size()}};
                 });
        put<T>({sums.first, sums.stride}, rows.size(), cols.size(), product.accumulate || terms.begin > 0,
               product.c.from(rows.begin, cols.begin));
      });
    });
  });
}

}  // namespace

std::string product_kernels() {
  return registers::kFuses ? "portable with fused multiply-adds" : "portable";
}

void multiply_whole(const Product<float>& product) {
  multiply_by_pieces(product);
}
void multiply_whole(const Product<double>& product) {
  multiply_by_pieces(product);
}

}  // namespace shardlens::cpu
