// Contrast is computed: text must be readable on every background of both themes, also from the last row of a
// lecture hall.
#include "ui/theme/theme.h"

#include <gtest/gtest.h>

#include <set>

namespace shardlens::ui {
namespace theme_test {

struct NamedColour {
  const char* name;
  ImU32 colour;
};

class BothThemes : public ::testing::TestWithParam<ThemeName> {
 protected:
  const Theme& tokens() const { return theme(GetParam()); }
  std::vector<NamedColour> grounds() const {
    return {{"window", tokens().window}, {"panel", tokens().panel}, {"card", tokens().card}};
  }
};
INSTANTIATE_TEST_SUITE_P(Theme, BothThemes, ::testing::Values(ThemeName::Dark, ThemeName::Light),
                         [](const auto& chosen) {
                           return chosen.param == ThemeName::Dark ? "Dark" : "Light";
                         });

TEST(Contrast, KnownPairs) {
  EXPECT_NEAR(contrast_ratio(IM_COL32_BLACK, IM_COL32_WHITE), 21.0, 1e-9);
  EXPECT_NEAR(contrast_ratio(IM_COL32_WHITE, IM_COL32_BLACK), 21.0, 1e-9);
  EXPECT_NEAR(contrast_ratio(IM_COL32(0x77, 0x77, 0x77, 255), IM_COL32_WHITE), 4.48, 0.005);
}

TEST_P(BothThemes, TextIsReadableOnEveryGround) {
  for (const auto& ground : grounds()) {
    EXPECT_GE(contrast_ratio(tokens().text, ground.colour), 7.0) << "text on " << ground.name;
    EXPECT_GE(contrast_ratio(tokens().dim, ground.colour), 4.5) << "dim on " << ground.name;
  }
}

TEST_P(BothThemes, ColouredWordsAreReadableOnEveryGround) {
  const NamedColour words[] = {{"forward", tokens().forward},
                               {"backward", tokens().backward},
                               {"communication", tokens().communication},
                               {"agreement", tokens().agreement},
                               {"recording", tokens().recording}};
  for (const auto& ground : grounds()) {
    for (const auto& word : words) {
      EXPECT_GE(contrast_ratio(word.colour, ground.colour), 4.5) << word.name << " on " << ground.name;
    }
  }
}

TEST_P(BothThemes, RankOutlinesStandOutFromTheGround) {
  for (const ImU32 outline : tokens().rank_outlines) {
    EXPECT_GE(contrast_ratio(outline, tokens().window), 3.0);
  }
  EXPECT_EQ(std::set<ImU32>(std::begin(tokens().ranks), std::end(tokens().ranks)).size(), 8u);
}

TEST(Faded, MultipliesOpacityAndKeepsTheColour) {
  EXPECT_EQ(faded(IM_COL32(1, 2, 3, 255), 0.5f), IM_COL32(1, 2, 3, 128));
  EXPECT_EQ(faded(IM_COL32(1, 2, 3, 100), 0.5f), IM_COL32(1, 2, 3, 50));
  EXPECT_EQ(faded(IM_COL32(1, 2, 3, 255), 2.0f), IM_COL32(1, 2, 3, 255));
}

}  // namespace theme_test
}  // namespace shardlens::ui
