// The wall's figures are the paper's: T = 1, 2, 4, 8 on 32 GB, and 133 GB for 8.3 B before activations.
#include "ui/panels/memory/memory_figures.h"

#include <gmock/gmock.h>

#include "engine/base/units.h"

namespace shardlens::ui {
namespace memory_figures_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MemoryFigures, BytesAreDecimalAsDevicesAreSold) {
  EXPECT_EQ(decimal_bytes(124e6 * 16), "1.98 GB");
  EXPECT_EQ(decimal_bytes(16.6e9), "16.6 GB");
  EXPECT_EQ(decimal_bytes(133.07e9), "133 GB");
  EXPECT_EQ(decimal_bytes(16.1e12), "16.1 TB");
  EXPECT_EQ(decimal_bytes(999.7e6), "1.00 GB");
}

TEST(MemoryFigures, ModelsAreNamedByTwoDigits) {
  EXPECT_EQ(model_size(124439808), "124 M");
  EXPECT_EQ(model_size(8.3e9), "8.3 B");
  EXPECT_EQ(model_size(175e9), "175 B");
  EXPECT_EQ(model_size(999.7e6), "1.0 B");
}

TEST(MemoryFigures, RatiosNearOneKeepTheirDistanceFromIt) {
  EXPECT_EQ(ratio_text(1.04), "1.04");
  EXPECT_EQ(ratio_text(4.16), "4.2");
  EXPECT_EQ(ratio_text(503.6), "504");
}

TEST(MemoryFigures, DevicesKeepTheirName) {
  EXPECT_EQ(device_word("V100 32 GB"), "V100");
  EXPECT_EQ(device_word("this machine, 2 cores"), "this machine");
  EXPECT_EQ(device_word("Card"), "Card");
}

TEST(MemoryFigures, ColumnsGoOnUntilOneFits) {
  EXPECT_THAT(wall_degrees(1), ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(wall_degrees(32), ElementsAre(1, 2, 4, 8, 16, 32));
  EXPECT_EQ(wall_degrees(1 << 20).back(), 1024);
}

TEST(MemoryFigures, ThePaperSizesNeedOneTwoFourEightOn32GB) {
  std::vector<int> degrees;
  for (double parameters : {1.2e9, 2.5e9, 4.2e9, 8.3e9})
    degrees.push_back(build_wall(parameters, "v100-32gb", 0).smallest);
  EXPECT_THAT(degrees, ElementsAre(1, 2, 4, 8));
}

TEST(MemoryFigures, EightPointThreeBillionIsTakenAsThePresetAndNeeds133GB) {
  const Wall wall = build_wall(8.3e9, "v100-32gb", 0);
  EXPECT_NE(wall.parameters, 8.3e9);
  EXPECT_EQ(decimal_bytes(wall.columns.front().total()), "133 GB");
  EXPECT_EQ(wall.explained, 8);
  EXPECT_THAT(verdict_of(wall).claim, HasSubstr("T = 8 is the smallest"));
}

TEST(MemoryFigures, AChosenColumnIsExplainedWhileItIsThere) {
  EXPECT_EQ(build_wall(8.3e9, "v100-32gb", 2).explained, 2);
  EXPECT_EQ(build_wall(8.3e9, "v100-32gb", 64).explained, 8);
}

TEST(MemoryFigures, AnUnknownDeviceIsReplacedNotFatal) {
  EXPECT_EQ(build_wall(1e9, "a device of another year", 0).device->name, "v100-32gb");
}

TEST(MemoryFigures, WhereNothingFitsItSaysSo) {
  const Wall wall = build_wall(1.3e12 * 40, "v100-32gb", 0);
  EXPECT_EQ(wall.smallest, 0);
  EXPECT_THAT(verdict_of(wall).claim, HasSubstr("No T up to 1024"));
}

}  // namespace memory_figures_test
}  // namespace shardlens::ui
