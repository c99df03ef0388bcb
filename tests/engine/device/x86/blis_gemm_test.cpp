// Tests BLIS on every processor, even if the device does not use it there: any part of C has the same bits as
// in the whole product, and products are correct.
#include "engine/device/cpu/x86/blis_gemm.h"

#include <gtest/gtest.h>

#include "tests/engine/device/whole_product_checks.h"

namespace shardlens::cpu {
namespace blis_gemm_test {

constexpr auto kMultiply = [](const Product<float>& product) { blis_multiply(product); };

TEST(BlisGemm, APartHasTheBitsOfTheWhole) {
  expect_parts_with_the_bits_of_the_whole<float>(kMultiply);
}

TEST(BlisGemm, IsTheProductAndAddsWhereAsked) {
  expect_the_product_added_where_asked<float>(kMultiply, 2e-4);
}

}  // namespace blis_gemm_test
}  // namespace shardlens::cpu
