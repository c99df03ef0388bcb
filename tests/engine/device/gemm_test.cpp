// Compares the GEMM with a naive one in long double. Also tests the property that sharding needs: a column of
// C does not depend on how many other columns are computed with it.
#include <gtest/gtest.h>

#include "engine/device/cpu/gemm.h"
#include "engine/device/device.h"
#include "tests/engine/device/operands.h"

namespace shardlens {
namespace gemm_test {

template <class T>
struct Case {
  bool ta, tb;
  int64_t m, n, k;
  std::vector<T> a, b, bias;

  Case(bool ta_, bool tb_, int64_t m_, int64_t n_, int64_t k_)
      : ta(ta_),
        tb(tb_),
        m(m_),
        n(n_),
        k(k_),
        a(normal<T>(m * k, 1)),
        b(normal<T>(k * n, 2)),
        bias(normal<T>(n, 3)) {}

  std::vector<T> run(Device& device, bool with_bias) const {
    std::vector<T> c(static_cast<size_t>(m * n), T(NAN));
    device.gemm({.dtype = kDType<T>,
                 .transpose_a = ta,
                 .transpose_b = tb,
                 .m = m,
                 .n = n,
                 .k = k,
                 .a = a.data(),
                 .lda = ta ? m : k,
                 .b = b.data(),
                 .ldb = tb ? k : n,
                 .c = c.data(),
                 .ldc = n,
                 .bias = with_bias ? bias.data() : nullptr});
    return c;
  }

  std::vector<double> reference(bool with_bias) const {
    std::vector<double> c;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        long double sum = with_bias ? static_cast<long double>(bias[static_cast<size_t>(j)]) : 0.0L;
        for (int64_t l = 0; l < k; ++l)
          sum += static_cast<long double>(a[static_cast<size_t>(ta ? l * m + i : i * k + l)]) *
                 static_cast<long double>(b[static_cast<size_t>(tb ? j * k + l : l * n + j)]);
        c.push_back(static_cast<double>(sum));
      }
    return c;
  }
};

template <class T>
class GemmTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GemmTest, Types);

TYPED_TEST(GemmTest, MatchesReferenceInEveryOrientation) {
  const int64_t shapes[][3] = {{1, 1, 1},   {5, 7, 3},   {64, 48, 96}, {33, 127, 300},
                               {1, 96, 64}, {96, 1, 64}, {1, 301, 517}};
  for (const auto& [m, n, k] : shapes)
    for (int orientation = 0; orientation < 4; ++orientation)
      for (const int threads : {1, 3}) {
        const Case<TypeParam> gemm(orientation & 1, orientation & 2, m, n, k);
        const auto device = make_cpu_device(threads);
        EXPECT_LT(relative_error(gemm.run(*device, true), gemm.reference(true)), kBound<TypeParam>)
            << m << " " << n << " " << k << " orientation " << orientation;
        EXPECT_LT(relative_error(gemm.run(*device, false), gemm.reference(false)), kBound<TypeParam>);
      }
}

TYPED_TEST(GemmTest, EmptyInnerDimensionYieldsTheBias) {
  const auto device = make_cpu_device(1);
  const Case<TypeParam> gemm(false, false, 3, 5, 0);
  EXPECT_EQ(relative_error(gemm.run(*device, true), gemm.reference(true)), 0);
  EXPECT_EQ(relative_error(gemm.run(*device, false), gemm.reference(false)), 0);
  EXPECT_TRUE((Case<TypeParam>(false, true, 0, 5, 4).run(*device, true).empty()));
  EXPECT_TRUE((Case<TypeParam>(true, false, 5, 0, 4).run(*device, true).empty()));
}

TYPED_TEST(GemmTest, ThreadsDoNotChangeTheBits) {
  // Tall, wide, and with rows and columns that do not fill the last tile; k past the longest unbroken sum.
  const int64_t shapes[][3] = {{200, 300, 500}, {37, 1000, 70}, {515, 20, 900},
                               {515, 290, 400}, {193, 97, 33},  {1, 1003, 517}};
  for (const auto& [m, n, k] : shapes)
    for (int orientation = 0; orientation < 4; ++orientation) {
      const Case<TypeParam> gemm(orientation & 1, orientation & 2, m, n, k);
      const std::vector<TypeParam> serial = gemm.run(*make_cpu_device(1), true);
      for (const int threads : {2, 3, 4, 8})
        EXPECT_TRUE(same_bits(gemm.run(*make_cpu_device(threads), true), serial))
            << m << " " << n << " " << k << " orientation " << orientation << " threads " << threads;
    }
}

TYPED_TEST(GemmTest, NothingOutsideTheResultIsTouched) {
  const auto device = make_cpu_device(2);
  const int64_t m = 70, n = 200, k = 20, stride = n + 3;
  const std::vector<TypeParam> a = normal<TypeParam>(m * k, 1), b = normal<TypeParam>(k * n, 2),
                               bias = normal<TypeParam>(n, 3);
  std::vector<TypeParam> c(static_cast<size_t>(m * stride), TypeParam(77));
  device->gemm(
      {kDType<TypeParam>, false, false, m, n, k, a.data(), k, b.data(), n, c.data(), stride, bias.data()});
  for (int64_t row = 0; row < m; ++row)
    for (int64_t col = n; col < stride; ++col)
      EXPECT_EQ(c[static_cast<size_t>(row * stride + col)], TypeParam(77));
}

TYPED_TEST(GemmTest, NanReachesItsRowAndNoOther) {
  const auto device = make_cpu_device(1);
  Case<TypeParam> gemm(false, false, 40, 50, 60);
  gemm.a[5 * 60 + 7] = TypeParam(NAN);
  const std::vector<TypeParam> c = gemm.run(*device, true);
  for (size_t i = 0; i < c.size(); ++i) EXPECT_EQ(std::isnan(c[i]), i / 50 == 5) << i;
}

TYPED_TEST(GemmTest, IntegersSumExactlyInAnyPieces) {
  const auto device = make_cpu_device(1);
  Case<TypeParam> whole(false, false, 50, 60, 1000);
  for (TypeParam& value : whole.a) value = std::rint(value);
  for (TypeParam& value : whole.b) value = std::rint(value);
  std::vector<TypeParam> sum(static_cast<size_t>(50 * 60));
  for (int rank = 0; rank < 7; ++rank) {  // a row-parallel product: the sum over k is cut
    const Range range = shard_range(whole.k, 7, rank);
    Case<TypeParam> part(false, false, 50, 60, range.size());
    part.a = columns(whole.a, whole.k, range);
    part.b = rows(whole.b, whole.n, range);
    const std::vector<TypeParam> c = part.run(*device, false);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += c[i];
  }
  EXPECT_TRUE(same_bits(sum, whole.run(*device, false)));
}

/// The products of one GPT-2 small layer in few tokens, forward, dX and dW, cut as the last rank of T would
/// hold them.
// 1,024 tokens of two threads were once 528 and 496, and one thread waited for the other.
TEST(GemmTiles, OfTheShapesOfGpt2AreEqual) {
  const int64_t shapes[][2] = {{1024, 768}, {1024, 2304}, {1024, 3072}, {768, 2304}, {3072, 768}, {768, 768}};
  for (const auto& [m, n] : shapes)
    for (const int threads : {2, 4}) {
      const cpu::Grid grid = cpu::choose_grid(threads, m, n);
      ASSERT_EQ(grid.rows * grid.cols, threads);
      for (int64_t tile = 0; tile < threads; ++tile) {
        const auto [rows, cols] = cpu::tile_of(grid, m, n, tile);
        EXPECT_EQ(rows.size() * cols.size() * threads, m * n) << m << " " << n << " tile " << tile;
      }
    }
}

TEST(GemmShardTest, ColumnShardsHaveTheBitsOfTheFullProduct) {
  const int64_t shapes[][3] = {{64, 2304, 768}, {64, 3072, 768}, {64, 768, 3072}, {768, 1152, 1024}};
  const auto device = make_cpu_device(1);
  for (const auto& [m, n, k] : shapes)
    for (int orientation = 0; orientation < 3; ++orientation) {  // never both transposed in a layer
      const Case<float> whole(orientation == 1, orientation == 2, m, n, k);
      const std::vector<float> full = whole.run(*device, true);
      for (const int ranks : {2, 3, 12}) {
        const int last = ranks - 1;
        const Range range = shard_range(n, ranks, last);
        Case<float> shard(whole.ta, whole.tb, m, range.size(), k);
        shard.a = whole.a;
        shard.b = whole.tb ? rows(whole.b, k, range) : columns(whole.b, n, range);
        shard.bias = columns(whole.bias, n, range);
        EXPECT_TRUE(same_bits(shard.run(*device, true), columns(full, n, range)))
            << m << " " << n << " " << k << " orientation " << orientation << " T " << ranks;
      }
    }
}

// Rows of B multiples of 4 KiB apart, of which B is copied into strips: the sums are those of the reference,
// and the last strip takes a column along that would be left alone.
TEST(GemmShardTest, CopiedStripsSumWhatTheWholeDoes) {
  const auto device = make_cpu_device(1);
  const int64_t m = 33, k = 512, stride = 2048;
  const Case<float> whole(false, false, m, stride, k);
  const std::vector<double> expected = whole.reference(true);
  for (const int64_t n : {int64_t{512}, int64_t{1537}, stride}) {
    std::vector<float> c(static_cast<size_t>(m * n), NAN);
    device->gemm({.dtype = DType::Fp32,
                  .m = m,
                  .n = n,
                  .k = k,
                  .a = whole.a.data(),
                  .lda = k,
                  .b = whole.b.data(),
                  .ldb = stride,
                  .c = c.data(),
                  .ldc = n,
                  .bias = whole.bias.data()});
    for (int64_t row = 0; row < m; ++row)
      for (int64_t col = 0; col < n; ++col)
        ASSERT_NEAR(c[static_cast<size_t>(row * n + col)], expected[static_cast<size_t>(row * stride + col)],
                    2e-4)
            << n << " " << row << " " << col;
  }
}

// B transposed is copied in strips of columns where A has many rows, on some processors, and not for the last
// of them: the sums are those of the reference, and a few rows alone have the same bits.
TEST(GemmShardTest, StripsOfATransposedBSumWhatTheWholeDoes) {
  const auto device = make_cpu_device(1);
  const int64_t m = 200, few = 64, k = 777;
  for (const int64_t n : {97, 383, 479, 480, 769}) {
    const Case<float> whole(false, true, m, n, k);
    const std::vector<float> c = whole.run(*device, true);
    const std::vector<double> expected = whole.reference(true);
    for (size_t i = 0; i < c.size(); ++i) ASSERT_NEAR(c[i], expected[i], 3e-4) << n << " element " << i;
    Case<float> part(false, true, few, n, k);
    part.a = rows(whole.a, k, {0, few});
    part.b = whole.b;
    part.bias = whole.bias;
    EXPECT_TRUE(same_bits(part.run(*device, true), rows(c, n, {0, few}))) << n;
  }
}

// So many columns are handed to oneDNN in pieces.
TEST(GemmShardTest, AVocabularysColumnsSumWhatTheyShould) {
  const auto device = make_cpu_device(1);
  for (const int64_t n : {4993, 6239, 6240, 10081})
    for (const bool transpose_b : {false, true}) {
      const Case<float> product(false, transpose_b, 3, n, 400);
      const std::vector<float> c = product.run(*device, true);
      const std::vector<double> expected = product.reference(true);
      for (size_t i = 0; i < c.size(); ++i) ASSERT_NEAR(c[i], expected[i], 2e-4) << n << " element " << i;
    }
}

TEST(GemmShardTest, RowShardsOfAWeightGradientHaveTheBitsOfTheFullOne) {
  const auto device = make_cpu_device(1);
  const int64_t m = 1536, n = 768, k = 1024;
  const Case<float> whole(true, false, m, n, k);
  const std::vector<float> full = whole.run(*device, false);
  for (const int ranks : {2, 3, 8}) {
    const Range range = shard_range(m, ranks, 1);
    Case<float> shard(true, false, range.size(), n, k);
    shard.a = columns(whole.a, m, range);
    shard.b = whole.b;
    EXPECT_TRUE(same_bits(shard.run(*device, false), rows(full, n, range))) << ranks;
  }
}

}  // namespace gemm_test
}  // namespace shardlens
