// The GEMM against a naive one in long double, and the property the sharding rests on: a column of C does not
// depend on how many other columns are computed with it.
#include <gtest/gtest.h>

#include "engine/device/device.h"
#include "tests/engine/device/operands.h"

namespace shardlens {
namespace {

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
class GemmTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(GemmTest, Types);

TYPED_TEST(GemmTest, MatchesReferenceInEveryOrientation) {
  const int64_t shapes[][3] = {{1, 1, 1}, {5, 7, 3}, {64, 48, 96}, {33, 127, 300}, {1, 96, 64}, {96, 1, 64}};
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

}  // namespace
}  // namespace shardlens
