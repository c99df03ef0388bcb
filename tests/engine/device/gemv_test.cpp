// A row times a matrix: the result of a row of B has the same bits, whichever rows are read side by side.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/device/device.h"
#include "tests/engine/device/operands.h"

namespace shardlens {
namespace gemv_test {

template <class S>
class GemvTest : public ::testing::Test {};
TYPED_TEST_SUITE(GemvTest, Stored);

// So many rows of a transposed B are read as two streams where that is faster; a few of them never are.
TYPED_TEST(GemvTest, ManyRowsHaveTheBitsOfAFew) {
  using S = TypeParam;
  constexpr int64_t kFew = 100;
  const auto device = make_cpu_device(1);
  // A middle between two rows and one on a row; rows that fill no vector.
  const int64_t extents[][2] = {{1367, 768}, {2400, 450}, {1500, 777}};
  for (const auto& [n, k] : extents) {
    const std::vector<S> x = stored<S>(k, 1), b = stored<S>(n * k, 2), before = stored<S>(n, 3);
    const auto rows_from = [&, k = k](int64_t first, int64_t count, bool accumulate, S* c) {
      device->gemm({.dtype = dtype_of<S>(),
                    .transpose_b = true,
                    .m = 1,
                    .n = count,
                    .k = k,
                    .a = x.data(),
                    .lda = k,
                    .b = b.data() + first * k,
                    .ldb = k,
                    .c = c + first,
                    .ldc = count,
                    .accumulate = accumulate});
    };
    for (const bool accumulate : {false, true}) {
      std::vector<S> together = before, apart = before;
      rows_from(0, n, accumulate, together.data());
      for (int64_t row = 0; row < n; row += kFew)
        rows_from(row, std::min(kFew, n - row), accumulate, apart.data());
      EXPECT_TRUE(same_bits(together, apart)) << n << " x " << k << ", accumulate " << accumulate;
    }
  }
}

}  // namespace gemv_test
}  // namespace shardlens
