#include "ui/widgets/within.h"

#include <gtest/gtest.h>

namespace shardlens::ui {
namespace within_test {

TEST(Within, MovesAValueIntoItsRoom) {
  EXPECT_EQ(within(5, 0, 10), 5);
  EXPECT_EQ(within(-1, 0, 10), 0);
  EXPECT_EQ(within(11, 0, 10), 10);
}

TEST(Within, BeginsWhereThereIsNoRoom) {
  EXPECT_EQ(within(5.0f, 40.0f, 20.0f), 40.0f);
}

}  // namespace within_test
}  // namespace shardlens::ui
