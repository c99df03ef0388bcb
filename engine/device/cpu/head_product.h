// The matrix products inside a head of attention. They are small: a library would pack the operands again for
// each of them, and would compute elements that the causal mask hides. Here a group of C's rows takes only
// the columns and terms that it needs. A group of rows and a few registers of columns are summed in
// registers. An element's terms are added one after the other, whatever else is computed with it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "engine/device/cpu/aligned.h"
#include "engine/device/cpu/gemm.h"
#include "engine/device/cpu/transposed.h"
#include "engine/device/cpu/vector.h"
#include "engine/program/layout.h"

namespace shardlens::cpu {

/// C = A·B, or C += A·B with `accumulate`. B [k, n] and C [m, n] are row-major; A [m, k] is row-major or
/// transposed.
template <class T>
struct HeadProduct {
  struct Operand {
    const T* first = nullptr;
    int64_t row = 0, term = 0;  ///< strides from row to row, and from term to term of a sum, in numbers
  } a;
  Rows<const T> b;
  Rows<T> c;
  bool accumulate = false;
};

/// The part of the work that some of C's rows need: their first columns, and some terms of the sums.
struct Needed {
  int64_t columns = 0;
  Range terms;
};

// The sums that are kept in registers: all registers except those for a row of B and an element of A, and
// enough to hide the latency of a multiply-add.
inline constexpr int64_t kGroupRows = 6;
inline constexpr int64_t kGroupVectors = kVectorBytes == 64 ? 4 : 2;

/// Computes `rows` rows of C from `row` on, and `vectors` registers of columns from `column` on. The last
/// register has `tail` columns.
template <class T, int64_t rows, int64_t vectors>
[[gnu::always_inline]] inline void multiply_group(const HeadProduct<T>& product, int64_t row, int64_t column,
                                                  auto tail, Range terms) {
  const auto lanes = [&](int64_t v) { return v == vectors - 1 ? int64_t{tail} : kLanes<T>; };
  T* const c = product.c.at(row) + column;
  const int64_t c_stride = product.c.stride, a_row = product.a.row;
  Vector<T> sums[rows][vectors];
#pragma GCC unroll 6
  for (int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int64_t v = 0; v < vectors; ++v)
      sums[r][v] =
          product.accumulate ? load_part(c + r * c_stride + v * kLanes<T>, lanes(v), T(0)) : Vector<T>{};
  const T* a = product.a.first + row * a_row + terms.begin * product.a.term;
  const T* b = product.b.at(terms.begin) + column;
  for (int64_t term = terms.begin; term < terms.end; ++term) {
    Vector<T> b_row[vectors];
#pragma GCC unroll 4
    for (int64_t v = 0; v < vectors; ++v) {
      b_row[v] = load_part(b + v * kLanes<T>, lanes(v), T(0));
      registers::keep(b_row[v]);  // read once, not again by every multiply-add
    }
#pragma GCC unroll 6
    for (int64_t r = 0; r < rows; ++r) {
      const Vector<T> element = a[r * a_row] - Vector<T>{};
#pragma GCC unroll 4
      for (int64_t v = 0; v < vectors; ++v) sums[r][v] = multiply_add<T>(element, b_row[v], sums[r][v]);
    }
    a += product.a.term;
    b += product.b.stride;
  }
#pragma GCC unroll 6
  for (int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int64_t v = 0; v < vectors; ++v) store_part(c + r * c_stride + v * kLanes<T>, sums[r][v], lanes(v));
}

/// The same for `columns`, which are at most kGroupVectors registers.
template <class T, int64_t rows, int64_t vectors = kGroupVectors>
inline void multiply_columns(const HeadProduct<T>& product, int64_t row, Range columns, Range terms) {
  const int64_t tail = columns.size() - (vectors - 1) * kLanes<T>;
  if (tail == kLanes<T>)
    return multiply_group<T, rows, vectors>(product, row, columns.begin,
                                            std::integral_constant<int64_t, kLanes<T>>(), terms);
  if (tail > 0) return multiply_group<T, rows, vectors>(product, row, columns.begin, tail, terms);
  if constexpr (vectors > 1) multiply_columns<T, rows, vectors - 1>(product, row, columns, terms);
}

/// Computes the parts needed(rows of C) of the first m rows of C. The rest of C does not change. The outer
/// loop is over columns, so that B's columns stay in the first cache for all groups of rows.
template <class T, class NeededBy>
void multiply(const HeadProduct<T>& product, int64_t m, int64_t n, const NeededBy& needed) {
  constexpr int64_t kWidth = kGroupVectors * kLanes<T>;
  for (int64_t column = 0; column < n; column += kWidth) {
    int64_t row = 0;
    const auto in_groups_of = [&](auto rows) {
      for (; row + rows <= m; row += rows) {
        const Needed of = needed(Range{row, row + rows});
        const Range columns{column, std::min(of.columns, column + kWidth)};
        if (columns.size() > 0) multiply_columns<T, rows>(product, row, columns, of.terms);
      }
    };
    in_groups_of(std::integral_constant<int64_t, kGroupRows>());
    in_groups_of(std::integral_constant<int64_t, 2>());
    in_groups_of(std::integral_constant<int64_t, 1>());
  }
}

/// Copies `from` [rows, cols] into `room` as [cols, rows].
template <class T>
Rows<const T> turned(Rows<const T> from, int64_t rows, int64_t cols, Aligned<T>& room) {
  const Rows<T> to = room_for_copy(cols, rows, room);
  if constexpr (std::is_same_v<T, float> && kVectorBytes == 64)
    copy_transposed(from, rows, cols, to);
  else
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t col = 0; col < cols; ++col) to.at(col)[row] = from.at(row)[col];
  return {to.first, to.stride};
}

}  // namespace shardlens::cpu
