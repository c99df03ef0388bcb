// Any part of C has the bits of the whole product, and the product is right: what is asked of a function that
// multiplies whole matrices.
#pragma once

#include <gtest/gtest.h>

#include "engine/device/cpu/gemm.h"
#include "tests/engine/device/operands.h"

namespace shardlens {

/// A product whose matrices lie in rows a few elements longer than they need to be. multiply(Product)
/// computes it.
template <class T, class Multiply>
struct WholeProduct {
  Multiply multiply;
  bool ta, tb;
  int64_t m, n, k;
  int64_t lda = (ta ? m : k) + 3, ldb = (tb ? k : n) + 5;
  std::vector<T> a = normal<T>((ta ? k : m) * lda, 1), b = normal<T>((tb ? n : k) * ldb, 2);
  std::vector<T> before = normal<T>(m * n, 3);

  T a_at(int64_t row, int64_t i) const { return a[static_cast<size_t>(ta ? i * lda + row : row * lda + i)]; }
  T b_at(int64_t i, int64_t col) const { return b[static_cast<size_t>(tb ? col * ldb + i : i * ldb + col)]; }

  /// [rows, cols] of C.
  std::vector<T> part(Range rows, Range cols, bool accumulate) const {
    std::vector<T> c;
    for (int64_t row = rows.begin; row < rows.end; ++row)
      for (int64_t col = cols.begin; col < cols.end; ++col)
        c.push_back(accumulate ? before[static_cast<size_t>(row * n + col)] : T(NAN));
    multiply(cpu::Product<T>{.transpose_a = ta,
                             .transpose_b = tb,
                             .m = rows.size(),
                             .n = cols.size(),
                             .k = k,
                             .a = {a.data() + (ta ? rows.begin : rows.begin * lda), lda},
                             .b = {b.data() + (tb ? cols.begin * ldb : cols.begin), ldb},
                             .c = {c.data(), cols.size()},
                             .accumulate = accumulate});
    return c;
  }
};

template <class T, class Multiply>
void expect_parts_with_the_bits_of_the_whole(const Multiply& multiply) {
  const int64_t shapes[][3] = {{257, 301, 700}, {64, 1000, 384}, {7, 33, 1}, {400, 90, 1537}};
  for (const auto& [m, n, k] : shapes)
    for (int orientation = 0; orientation < 4; ++orientation)
      for (const bool accumulate : {false, true}) {
        const WholeProduct<T, Multiply> whole{multiply, (orientation & 1) != 0, (orientation & 2) != 0, m, n,
                                              k};
        const std::vector<T> all = whole.part({0, m}, {0, n}, accumulate);
        for (const auto& [rows, cols] :
             {std::pair(Range{m / 3, m}, Range{0, n}), std::pair(Range{0, m}, Range{n / 2, n / 2 + 11}),
              std::pair(Range{m / 2, m / 2 + 1}, Range{n / 5, n - 2}),
              std::pair(Range{1, 6}, Range{n - 1, n})})
          EXPECT_TRUE(
              same_bits(whole.part(rows, cols, accumulate), columns(shardlens::rows(all, n, rows), n, cols)))
              << m << " × " << n << " × " << k << ", orientation " << orientation << ", from " << rows.begin
              << ", " << cols.begin;
      }
}

template <class T, class Multiply>
void expect_the_product_added_where_asked(const Multiply& multiply, double tolerance) {
  for (int orientation = 0; orientation < 4; ++orientation)
    for (const bool accumulate : {false, true}) {
      const WholeProduct<T, Multiply> whole{multiply, (orientation & 1) != 0, (orientation & 2) != 0, 37, 53,
                                            600};
      const std::vector<T> c = whole.part({0, whole.m}, {0, whole.n}, accumulate);
      for (int64_t row = 0; row < whole.m; ++row)
        for (int64_t col = 0; col < whole.n; ++col) {
          const auto at = static_cast<size_t>(row * whole.n + col);
          double sum = accumulate ? whole.before[at] : 0.0;
          for (int64_t i = 0; i < whole.k; ++i)
            sum += static_cast<double>(whole.a_at(row, i)) * static_cast<double>(whole.b_at(i, col));
          ASSERT_NEAR(c[at], sum, tolerance) << "orientation " << orientation << ", element " << at;
        }
    }
}

}  // namespace shardlens
