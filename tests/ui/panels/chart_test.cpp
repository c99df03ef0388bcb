// On which side of its point each label is drawn when several points share one place.
#include "ui/panels/chart.h"

#include <gmock/gmock.h>

namespace shardlens::ui {
namespace chart_test {

using ::testing::ElementsAre;

TEST(LabelSides, TheHighestIsAboveTheLowestBelowAndTheOthersBeside) {
  EXPECT_THAT(label_sides({0.77}), ElementsAre(1));
  EXPECT_THAT(label_sides({0.77, 0.8}), ElementsAre(-1, 1));
  EXPECT_THAT(label_sides({0.74, 0.6, 0.9}), ElementsAre(0, -1, 1));
  EXPECT_THAT(label_sides({1, 1, 1}), ElementsAre(1, 0, -1)) << "equal ones share the sides too";
  EXPECT_TRUE(label_sides({}).empty());
}

}  // namespace chart_test
}  // namespace shardlens::ui
