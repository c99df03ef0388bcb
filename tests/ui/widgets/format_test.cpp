// Figures with units: the digits, the unit, and the borders where rounding changes the unit.
#include "ui/widgets/format.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "ui/panels/memory/memory_figures.h"

namespace shardlens::ui {
namespace format_test {

TEST(Format, BytesAreBinary) {
  EXPECT_EQ(bytes_text(0), "0 bytes");
  EXPECT_EQ(bytes_text(1023), "1023 bytes");
  EXPECT_EQ(bytes_text(1024), "1.00 KiB");
  EXPECT_EQ(bytes_text(3 * 1024 * 1024), "3.00 MiB");
  EXPECT_EQ(bytes_text(4.5 * 1024 * 1024), "4.50 MiB");
  EXPECT_EQ(bytes_text(117440512), "112 MiB");
  EXPECT_EQ(bytes_text(1536.0 * 1024 * 1024), "1.50 GiB");
  EXPECT_EQ(bytes_text(-2048), "-2.00 KiB");
}

TEST(Format, BytesNeverShow1024OfAUnit) {
  EXPECT_EQ(bytes_text(1024 * 1024 - 1), "1.00 MiB");
}

TEST(Format, IntegersHaveThousands) {
  EXPECT_EQ(grouped_text(0), "0");
  EXPECT_EQ(grouped_text(999), "999");
  EXPECT_EQ(grouped_text(1000), "1,000");
  EXPECT_EQ(grouped_text(3145728), "3,145,728");
  EXPECT_EQ(grouped_text(-123456), "-123,456");
}

TEST(Format, Seconds) {
  EXPECT_EQ(format_seconds(0), "0 s");
  EXPECT_EQ(format_seconds(840e-9), "840 ns");
  EXPECT_EQ(format_seconds(12.34e-6), "12.3 µs");
  EXPECT_EQ(format_seconds(1.1e-3), "1.10 ms");
  EXPECT_EQ(format_seconds(0.25), "250 ms");
  EXPECT_EQ(format_seconds(0.99996), "1.00 s");
  EXPECT_EQ(format_seconds(2.5), "2.50 s");
  EXPECT_EQ(format_seconds(4000), "4000 s");
}

TEST(Format, TicksLoseTheirZeros) {
  EXPECT_EQ(format_tick(0), "0");
  EXPECT_EQ(format_tick(5e-3), "5 ms");
  EXPECT_EQ(format_tick(12.5e-3), "12.5 ms");
  EXPECT_EQ(format_tick(1.2e-3), "1.2 ms");
  EXPECT_EQ(format_tick(100e-3), "100 ms");
  EXPECT_EQ(format_tick(20), "20 s");
}

TEST(Format, Flops) {
  EXPECT_EQ(format_flops(1.44e12), "1.44 TFLOP/s");
  EXPECT_EQ(format_flops(272e9), "272 GFLOP/s");
  EXPECT_EQ(format_flop_count(4.83e9), "4.83 GFLOP");
  EXPECT_EQ(format_flops(999.9e9), "1.00 TFLOP/s");
}

TEST(Format, Counts) {
  EXPECT_EQ(format_count(768), "768");
  EXPECT_EQ(format_count(50257), "50.3 k");
  EXPECT_EQ(format_count(8.3e9), "8.30 B");
  EXPECT_EQ(format_bandwidth(12.4e9), "12.4 GB/s");
}

TEST(Format, ValuesAreShort) {
  EXPECT_EQ(format_value(0), "0");
  EXPECT_EQ(format_value(0.3174), "0.317");
  EXPECT_EQ(format_value(0.05126), "0.0513");
  EXPECT_EQ(format_value(-0.005126), "-0.00513");
  EXPECT_EQ(format_value(0.0005126), "5.1e-4");
  EXPECT_EQ(format_value(-1.412), "-1.41");
  EXPECT_EQ(format_value(12.34), "12.3");
  EXPECT_EQ(format_value(1234.4), "1234");
  EXPECT_EQ(format_value(2.13e-7), "2.1e-7");
  EXPECT_EQ(format_value(-3e6), "-3.0e6");
  EXPECT_EQ(format_value(std::numeric_limits<double>::quiet_NaN()), "NaN");
  EXPECT_EQ(format_value(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(Format, ErrorsCarryTwoDigits) {
  EXPECT_EQ(format_error(0), "0");
  EXPECT_EQ(format_error(3e-6), "3.0e-6");
  EXPECT_EQ(format_error(2.07e-7), "2.1e-7");
  EXPECT_EQ(format_error(9.97e-16), "1.0e-15");
}

TEST(Format, NumbersAmongAllCountFromZero) {
  EXPECT_EQ(number_of(0, 38),
            "0 (0\u2013"
            "37)");
  EXPECT_EQ(number_of(0, 1), "0");
  EXPECT_EQ(number_of(1234, 2000),
            "1,234 (0\u2013"
            "1,999)");
}

TEST(Format, Percent) {
  EXPECT_EQ(format_percent(0.82), "82 %");
  EXPECT_EQ(format_percent(0.004), "0.4 %");
  EXPECT_EQ(format_percent(0), "0 %");
  EXPECT_EQ(format_percent(1), "100 %");
}

// "8.3 B" is billions. Beside it "2 B" would be read as two billions too.
TEST(Format, ALoneBIsABillionAndNeverBytes) {
  for (double amount = 1; amount < 1e22; amount *= 7) {
    for (const std::string& bytes :
         {bytes_text(amount), decimal_bytes(amount), format_bandwidth(amount), bytes_text(amount - 1)}) {
      EXPECT_FALSE(bytes.ends_with(" B")) << bytes;
      EXPECT_EQ(bytes.find(" B/"), std::string::npos) << bytes;
    }
  }
  EXPECT_EQ(bytes_text(1), "1 byte");
  EXPECT_EQ(decimal_bytes(2), "2 bytes");
  EXPECT_EQ(format_bandwidth(12), "12 bytes/s");
  EXPECT_EQ(model_size(8.3e9), "8.3 B");
  EXPECT_EQ(format_count(2e9), "2.00 B");
}

}  // namespace format_test
}  // namespace shardlens::ui
