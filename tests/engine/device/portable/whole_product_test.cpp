// The portable whole products: any part of C, even a single element, has the bits of the whole product, in
// both precisions and every orientation, and the products are correct.
#include "engine/device/cpu/whole_product.h"

#include <gtest/gtest.h>

#include "tests/engine/device/whole_product_checks.h"

namespace shardlens::cpu {
namespace whole_product_test {

template <class T>
class PortableProduct : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(PortableProduct, Types);

constexpr auto kMultiply = [](const auto& product) { multiply_whole(product); };

TYPED_TEST(PortableProduct, APartHasTheBitsOfTheWhole) {
  expect_parts_with_the_bits_of_the_whole<TypeParam>(kMultiply);
}

TYPED_TEST(PortableProduct, IsTheProductAndAddsWhereAsked) {
  expect_the_product_added_where_asked<TypeParam>(kMultiply, std::is_same_v<TypeParam, float> ? 2e-4 : 1e-12);
}

}  // namespace whole_product_test
}  // namespace shardlens::cpu
