// Matrices in panels: the place of each element, and that products with them have the same bits as products
// with the same matrix in row-major order.
#include "engine/device/panels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "engine/device/device.h"
#include "tests/engine/device/operands.h"

namespace shardlens {
namespace panels_test {

TEST(Panels, ColumnsOfAllRowsLieTogether) {
  const std::vector<int16_t> matrix{0, 1, 2, 3, 4, 10, 11, 12, 13, 14};  // [2, 5]
  std::vector<int16_t> in_panels(matrix.size());
  into_panels({2, 5, 2}, sizeof(int16_t), matrix.data(), in_panels.data());
  EXPECT_EQ(in_panels, (std::vector<int16_t>{0, 1, 10, 11, 2, 3, 12, 13, 4, 14}));
}

TEST(Panels, AMatrixComesOutAsItWentIn) {
  for (const int64_t rows : {0, 1, 7})
    for (const int64_t cols : {0, 1, 15, 16, 17, 40})
      for (const int64_t width : {1, 16, 64}) {
        const Panels panels{rows, cols, width};
        std::vector<int32_t> matrix(static_cast<size_t>(rows * cols));
        std::iota(matrix.begin(), matrix.end(), 0);
        std::vector<int32_t> in_panels(matrix.size(), -1), back(matrix.size(), -1);
        into_panels(panels, sizeof(int32_t), matrix.data(), in_panels.data());
        out_of_panels(panels, sizeof(int32_t), {0, cols}, in_panels.data(), back.data());
        EXPECT_EQ(back, matrix) << rows << " x " << cols << " in panels of " << width;
      }
}

TEST(Panels, SomeColumnsComeOutAlone) {
  const std::vector<double> matrix = normal<double>(3 * 11, 1);
  std::vector<double> in_panels(matrix.size()), back(3 * 7);
  into_panels({3, 11, 4}, sizeof(double), matrix.data(), in_panels.data());
  out_of_panels({3, 11, 4}, sizeof(double), {4, 11}, in_panels.data(), back.data());
  EXPECT_EQ(back, columns(matrix, 11, {4, 11}));
}

/// A product whose B lies in memory both ways.
template <class S>
struct BothWays {
  int64_t m, n, k, panel;
  std::vector<S> a = stored<S>(m * k, 1), b = stored<S>(k * n, 2), bias = stored<S>(n, 3), in_panels = b;

  BothWays(int64_t m_, int64_t n_, int64_t k_, int64_t panel_) : m(m_), n(n_), k(k_), panel(panel_) {
    into_panels({k, n, panel}, sizeof(S), b.data(), in_panels.data());
  }
  Gemm gemm(bool panels, void* c) const {
    Gemm gemm{.dtype = dtype_of<S>(), .m = m, .n = n, .k = k, .a = a.data(), .lda = k};
    gemm.b = panels ? in_panels.data() : b.data();
    gemm.ldb = n;
    gemm.b_panel_cols = panels ? panel : 0;
    gemm.c = c;
    gemm.ldc = n;
    return gemm;
  }
};

template <class S>
class PanelGemmTest : public ::testing::Test {};
TYPED_TEST_SUITE(PanelGemmTest, Stored);

TYPED_TEST(PanelGemmTest, HasTheBitsOfTheSameMatrixRowMajor) {
  using S = TypeParam;
  const int64_t panel = make_cpu_device(1)->panel_cols();
  ASSERT_GT(panel, 0);
  // One row as a token has, several as a prompt has; columns that fill panels and that do not, more than are
  // copied at a time; a sum that is broken.
  const int64_t shapes[][3] = {{1, 1, 1},         {1, panel, 40},     {1, 3 * panel + 33, 501}, {1, 7, 0},
                               {5, panel + 1, 9}, {5, 1600, 400},     {37, 3 * panel, 70},      {2, 768, 390},
                               {1, 31, 65},       {1, panel * 2, 768}};
  for (const auto& [m, n, k] : shapes)
    for (const bool bias : {false, true})
      for (const bool wide : {false, true})
        for (const int threads : {1, 3}) {
          const BothWays<S> of(m, n, k, panel);
          const auto device = make_cpu_device(threads);
          const auto product = [&](bool panels, bool accumulate) {
            const int64_t bytes = wide && sizeof(S) == 2 ? 4 : static_cast<int64_t>(sizeof(S));
            std::vector<std::byte> result(static_cast<size_t>(m * n * bytes), std::byte{0x3C});
            Gemm gemm = of.gemm(panels, result.data());
            gemm.bias = bias && !accumulate ? of.bias.data() : nullptr;
            gemm.wide_result = wide;
            gemm.accumulate = accumulate;
            device->gemm(gemm);
            return result;
          };
          EXPECT_EQ(product(true, false), product(false, false))
              << m << " x " << n << " x " << k << ", bias " << bias << ", wide " << wide << ", " << threads;
          EXPECT_EQ(product(true, true), product(false, true))
              << m << " x " << n << " x " << k << ", added, wide " << wide << ", " << threads;
        }
}

TYPED_TEST(PanelGemmTest, AndSoHaveWhatFollowsIt) {
  using S = TypeParam;
  const auto device = make_cpu_device(1);
  const int64_t panel = device->panel_cols(), n = panel + 5, k = 30;
  for (const int64_t m : {1, 4}) {
    const BothWays<S> of(m, n, k, panel);
    const auto gelu = [&](bool panels) {
      std::vector<S> before(static_cast<size_t>(m * n)), after(before.size());
      Gemm gemm = of.gemm(panels, after.data());
      gemm.bias = of.bias.data();
      gemm.after = AfterProduct::Gelu;
      gemm.before = before.data();
      device->gemm(gemm);
      before.insert(before.end(), after.begin(), after.end());
      return before;
    };
    EXPECT_TRUE(same_bits(gelu(true), gelu(false))) << m;
  }
}

}  // namespace panels_test
}  // namespace shardlens
