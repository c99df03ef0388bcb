// Quantities are printed with units that people can read.
#include "engine/base/units.h"

#include <gtest/gtest.h>

#include <limits>

namespace shardlens {
namespace units_test {

TEST(Units, BytesHaveThreeDigitsAndABinaryUnit) {
  EXPECT_EQ(bytes_text(0), "0 bytes");
  EXPECT_EQ(bytes_text(1), "1 byte");
  EXPECT_EQ(bytes_text(1023), "1023 bytes");
  EXPECT_EQ(bytes_text(1024), "1.00 KiB");
  EXPECT_EQ(bytes_text(1024 * 1024 - 1), "1.00 MiB");
  EXPECT_EQ(bytes_text(117440512), "112 MiB");
  EXPECT_EQ(bytes_text(-2048), "-2.00 KiB");
  EXPECT_EQ(bytes_text(std::numeric_limits<double>::infinity()), "∞");
}

TEST(Units, LargeNumbersAreGrouped) {
  EXPECT_EQ(grouped_text(999), "999");
  EXPECT_EQ(grouped_text(117440512), "117,440,512");
  EXPECT_EQ(grouped_text(-123456), "-123,456");
}

}  // namespace units_test
}  // namespace shardlens
