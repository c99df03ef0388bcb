// What Setup offers when the settings cannot be run.
#include "ui/settings/remedies.h"

#include <gtest/gtest.h>

#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "engine/config/validate.h"

namespace shardlens::ui {
namespace remedies_test {

std::vector<std::string> labels(const std::vector<Remedy>& list) {
  std::vector<std::string> words;
  for (const Remedy& remedy : list) words.push_back(remedy.label);
  return words;
}

TEST(Remedies, NoneWhereNothingIsWrong) {
  EXPECT_TRUE(remedies(Settings{}, 4).empty());
}

TEST(Remedies, FiveRanksForTwelveHeads) {
  Settings settings;
  settings.tp = 5;
  const std::vector<std::string> offered = labels(remedies(settings, 4));
  ASSERT_EQ(offered.size(), 4u);
  EXPECT_EQ(offered[0], "T = 4");
  EXPECT_EQ(offered[1], "T = 6");
  EXPECT_EQ(offered[2], "run with uneven heads");
  EXPECT_EQ(offered[3], "pad with zero heads");
}

TEST(Remedies, EightRanksForTwelveHeadsMayChangeTheHeads) {
  Settings settings;
  settings.tp = 8;
  const std::vector<std::string> offered = labels(remedies(settings, 6));
  EXPECT_NE(std::find(offered.begin(), offered.end(), "8 heads"), offered.end());
  EXPECT_NE(std::find(offered.begin(), offered.end(), "16 heads"), offered.end());
}

TEST(Remedies, ALayerInHalfPrecisionIsOfferedAsTheWholeModel) {
  Settings settings;
  settings.dtype = DType::Bf16;
  const std::vector<Remedy> offered = remedies(settings, 4);
  ASSERT_FALSE(offered.empty());
  EXPECT_EQ(offered[0].label, "the whole model");
  EXPECT_EQ(offered[0].settings.block, Block::Model);
  EXPECT_EQ(offered[0].settings.dtype, DType::Bf16);
}

TEST(Remedies, WhatIsOfferedRuns) {
  for (int tp = 1; tp <= 70; ++tp) {
    Settings settings;
    settings.tp = tp;
    for (const Remedy& remedy : remedies(settings, 6))
      EXPECT_NO_THROW(validate_executable(remedy.settings)) << tp;
  }
  Settings half;
  half.dtype = DType::Fp16;
  EXPECT_EQ(labels(remedies(half, 4)), (std::vector<std::string>{"the whole model", "fp32", "fp64"}));
}

TEST(Remedies, AMessageHasAHeadline) {
  const Message message =
      split_message("T = 5 is not possible: 12 heads are not divisible by 5. Try 4 or 6.");
  EXPECT_EQ(message.headline, "T = 5 is not possible");
  EXPECT_EQ(message.rest, "12 heads are not divisible by 5. Try 4 or 6.");
  EXPECT_EQ(split_message("cancelled").headline, "Cancelled");
  EXPECT_EQ(split_message("the file ends early: give a whole one").rest, "Give a whole one") << "a sentence";
}

TEST(Remedies, SizesAndCutsAreCalledByTheirNames) {
  Model model = model_preset("gpt2");
  model.title = "custom";
  EXPECT_EQ(named_by_its_sizes(model), model_preset("gpt2"));
  model.hidden = 1536;
  EXPECT_EQ(named_by_its_sizes(model).title, "custom");
  Split split = named_split("reversed");
  split.name = "custom";
  EXPECT_EQ(named_by_its_cuts(split).name, "reversed");
  split.mlp_proj = Cut::Replicated;
  EXPECT_EQ(named_by_its_cuts(split).name, "custom");
}

}  // namespace remedies_test
}  // namespace shardlens::ui
