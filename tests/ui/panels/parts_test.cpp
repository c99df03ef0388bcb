// Text on a coloured part is readable: contrast 4.5 : 1 in both themes.
#include "ui/panels/parts.h"

#include <gtest/gtest.h>

#include "ui/panels/memory/memory_pages.h"

namespace shardlens::ui {
namespace parts_test {

TEST(Parts, FiguresOnTheWallCanBeRead) {
  for (ThemeName name : {ThemeName::Dark, ThemeName::Light})
    for (size_t part = 0; part < wall_parts().size(); ++part) {
      const ImU32 ground = wall_part_colour(part);
      EXPECT_GE(contrast_ratio(legible_on(theme(name), ground), ground), 4.5) << wall_parts()[part].name;
    }
}

TEST(Parts, NeighboursInAStackDiffer) {
  for (size_t part = 1; part < wall_parts().size(); ++part)
    EXPECT_GE(contrast_ratio(wall_part_colour(part), wall_part_colour(part - 1)), 1.3)
        << wall_parts()[part].name;
}

TEST(Parts, AMixIsBetweenItsEnds) {
  EXPECT_EQ(mixed(IM_COL32(0, 0, 0, 255), IM_COL32(255, 255, 255, 255), 0), IM_COL32(0, 0, 0, 255));
  EXPECT_EQ(mixed(IM_COL32(0, 0, 0, 255), IM_COL32(255, 255, 255, 255), 1), IM_COL32(255, 255, 255, 255));
  EXPECT_EQ(mixed(IM_COL32(10, 20, 30, 255), IM_COL32(10, 20, 30, 255), 0.5f), IM_COL32(10, 20, 30, 255));
}

}  // namespace parts_test
}  // namespace shardlens::ui
