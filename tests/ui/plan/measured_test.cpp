// A time shorter than the clock's steps is not shown as measured.
#include "ui/plan/measured.h"

#include <gtest/gtest.h>

#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace measured_test {

TEST(MeasuredText, ATimeBelowTheClocksStepsIsNoMeasurement) {
  EXPECT_EQ(measured_text(30e-6, 100e-6), "< 100 µs");
  EXPECT_EQ(measured_text(0, 100e-6), "< 100 µs");
  EXPECT_EQ(measured_text(0.5e-3, 1e-3), "< 1 ms");
  EXPECT_EQ(measured_text(200e-6, 100e-6), format_seconds(200e-6));
}

TEST(MeasuredText, OfAProgramsOwnClockEveryTimeIs) {
  EXPECT_EQ(measured_text(30e-9, nullptr), format_seconds(30e-9));
  Result recorded;
  recorded.replayed = true;
  recorded.clock_step = 0;
  EXPECT_EQ(measured_text(30e-9, &recorded), format_seconds(30e-9));
}

TEST(MeasuredText, OfARecordingTheClockIsThatOfItsMachine) {
  Result recorded;
  recorded.replayed = true;
  recorded.clock_step = 100e-6;
  EXPECT_EQ(measured_text(30e-6, &recorded), "< 100 µs");
}

}  // namespace measured_test
}  // namespace shardlens::ui
