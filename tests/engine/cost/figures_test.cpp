// The texts' figures follow from plans. If a text is loose, both numbers are fixed here.
#include "engine/cost/figures.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace shardlens {
namespace figures_test {

const WorkedFigure& figure(const std::string& what) {
  static const std::vector<WorkedFigure> figures = worked_figures();
  const auto found = std::find_if(figures.begin(), figures.end(), [&](const WorkedFigure& candidate) {
    return candidate.what.find(what) != std::string::npos;
  });
  EXPECT_NE(found, figures.end()) << what;
  return *found;
}

TEST(WorkedFigures, VolumesAreExact) {
  EXPECT_EQ(figure("one all-reduce").exact, 117'440'512);  // 112 MiB
  EXPECT_EQ(figure("for a layer forward").exact, 234'881'024);
  EXPECT_TRUE(figure("one all-reduce").agrees());
  EXPECT_TRUE(figure("sent by each rank for a layer forward").agrees());
}

TEST(WorkedFigures, TheRatioByTheChaptersCountAndByTheExactOne) {
  const WorkedFigure& ratio = figure("compute against communication");
  EXPECT_NEAR(ratio.by_formula, 0.17, 0.005);
  EXPECT_NEAR(ratio.exact, 1.81, 0.01);
  const WorkedFigure& flops = figure("FLOPs of a rank");
  EXPECT_NEAR(flops.by_formula, (5.50e11 + 1.37e11) / 8, 1e8);
  const double tokens = 4 * 2048, d = 4096;
  EXPECT_DOUBLE_EQ(flops.exact, (24 * tokens * d * d + 4 * tokens * 2048 * d) / 8);
  EXPECT_NEAR(figure("the same with one link direction").exact, 0.732, 0.001);
}

TEST(WorkedFigures, NormStatistics) {
  EXPECT_EQ(figure("statistics of a LayerNorm").exact, 65'536);
  EXPECT_EQ(figure("all-reduce it is compared with").exact, 134'217'728);  // 128 MiB
  EXPECT_EQ(figure("all-reduce it is compared with").by_formula, 2 * 134'217'728.0);
  EXPECT_EQ(figure("activations against statistics").by_formula, 2048);
  EXPECT_EQ(figure("activations against statistics").exact, 1024);
}

TEST(WorkedFigures, MemoryShapesAndVocabulary) {
  EXPECT_EQ(figure("mixed-precision Adam").exact, 16);
  EXPECT_EQ(figure("as this engine plans it").exact, 18);
  EXPECT_EQ(figure("rows of fc").exact, 3072);
  EXPECT_EQ(figure("columns of fc").exact, 1536);
  EXPECT_EQ(figure("heads on one GPU").exact, 3);
  EXPECT_EQ(figure("vocabulary padded").exact, 51'200);
}

TEST(WorkedFigures, TheFusedLossSavesAFactorOfVInNumbersAndTwelfthsOfItInBytes) {
  EXPECT_EQ(figure("fused loss").by_formula, 51'200);
  EXPECT_NEAR(figure("fused loss").exact, 51'200 * 2 / 24.0, 1e-6);
}

TEST(WorkedFigures, WhatDiffersHasAReason) {
  for (const WorkedFigure& one : worked_figures()) {
    EXPECT_TRUE(one.agrees() || !one.reason.empty()) << one.what;
    EXPECT_FALSE(one.printed.empty()) << one.what;
    EXPECT_FALSE(one.source.empty()) << one.what;
  }
}

}  // namespace figures_test
}  // namespace shardlens
