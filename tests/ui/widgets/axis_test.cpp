// Logarithmic places can be inverted, and labels never touch.
#include "ui/widgets/axis.h"

#include <gmock/gmock.h>

namespace shardlens::ui {
namespace axis_test {

using ::testing::ElementsAre;

TEST(Axis, LogarithmicPlaceInverts) {
  EXPECT_DOUBLE_EQ(log_fraction(1e9, 1e8, 1e10), 0.5);
  EXPECT_DOUBLE_EQ(log_fraction(1, 1e8, 1e10), 0);
  EXPECT_DOUBLE_EQ(log_fraction(1e12, 1e8, 1e10), 1);
  EXPECT_NEAR(log_value(log_fraction(8.3e9, 1e8, 1e12), 1e8, 1e12), 8.3e9, 1);
}

TEST(Axis, LabelsKeepTheirDistanceAndTheImportantOneWins) {
  const std::vector<float> centres{0, 10, 20, 60}, widths{16, 16, 16, 16};
  EXPECT_THAT(labels_that_fit(centres, widths, 2, {}), ElementsAre(true, false, true, true));
  EXPECT_THAT(labels_that_fit(centres, widths, 2, {1}), ElementsAre(false, true, false, true));
}

}  // namespace axis_test
}  // namespace shardlens::ui
