// The texts' figures follow from plans. If a text is loose, both numbers are fixed here.
#include "engine/cost/figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/config/presets.h"
#include "engine/config/validate.h"
#include "engine/cost/model_price.h"
#include "engine/planner/parameters.h"
#include "engine/train/experiments/figures_of_runs.h"

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
  EXPECT_EQ(figure("activations against statistics").exact, 256);
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

// All FLOPs of a layer, on a ring of 450 GB/s in one direction whose hops take their latency.
TEST(WorkedFigures, RatiosOfOtherWidthsAndDegrees) {
  EXPECT_NEAR(figure("d = 8192").by_formula, 0.233, 0.001);
  const double tokens = 4 * 2048, d = 8192;
  const double flops = (24 * tokens * d * d + 4 * tokens * 2048 * d) / 8, sent = 4 * 7.0 / 8 * tokens * d * 2;
  const double hops = 2 * 14 * find_hardware("h100-80gb").link_latency_seconds;
  EXPECT_NEAR(figure("d = 8192").exact, flops / 989e12 / (sent / 450e9 + hops), 0.01);
  EXPECT_NEAR(figure("forward, T = 4").by_formula, 0.34, 1e-9);
  EXPECT_NEAR(figure("forward, T = 2").by_formula, 0.68, 1e-9);
  EXPECT_GT(figure("forward, T = 4").exact, 2 * 0.732);
  EXPECT_GT(figure("forward, T = 2").exact, 2 * figure("forward, T = 4").exact);
}

TEST(WorkedFigures, SequenceParallelismSendsAQuarterMore) {
  EXPECT_EQ(figure("sequence parallelism against").by_formula, 1);
  EXPECT_NEAR(figure("sequence parallelism against").exact, 1.25, 0.001);
  EXPECT_DOUBLE_EQ(figure("a reduce-scatter and an all-gather").exact, 1);
  EXPECT_EQ(figure("all-reduces in a layer").exact, 4);
}

TEST(WorkedFigures, ActivationsFallByLessThanT) {
  EXPECT_EQ(figure("a rank's weights").by_formula, 0.125);
  EXPECT_NEAR(figure("a rank's weights").exact, 0.125, 0.001);
  EXPECT_NEAR(figure("a rank's activations").exact, 1.0 / 3, 0.05);
}

TEST(WorkedFigures, ASecondNodeMoreThanDoublesCommunication) {
  for (const char* name : {"A100", "H100", "H200"}) {
    const WorkedFigure& crossing = figure(std::string("over two nodes against T = 8 in one, ") + name);
    EXPECT_EQ(crossing.by_formula, 2);
    EXPECT_GT(crossing.exact, 2.5) << name;
    EXPECT_LT(crossing.exact, 3.5) << name;
  }
}

TEST(WorkedFigures, TheLargestModelOfOneBoxJustFits) {
  const WorkedFigure& box = figure("16 GPUs of 32 GB");
  EXPECT_EQ(box.by_formula, 32e9);
  ASSERT_TRUE(box.settings);
  const auto held = [](const Settings& settings) {
    return total_bytes(price_model(settings, find_hardware("v100-32gb")).memory_bytes);
  };
  const int64_t memory = find_hardware("v100-32gb").memory_bytes;
  Settings larger = *box.settings;
  EXPECT_LE(held(larger), memory);
  ++larger.model.layers;
  EXPECT_GT(held(larger), memory);
  EXPECT_EQ(box.exact, static_cast<double>(parameter_count(box.settings->model)));
}

TEST(WorkedFigures, EpochsTakeDays) {
  for (const auto& [what, printed] :
       {std::pair{"medium on 64 GPUs", 0.86}, {"2.5 B on 128 GPUs", 2.27}, {"24 heads on 512 GPUs", 2.10}}) {
    const WorkedFigure& epoch = figure(what);
    EXPECT_EQ(epoch.by_formula, printed);
    EXPECT_GT(epoch.exact, printed / 2) << what;
    EXPECT_LT(epoch.exact, printed * 2) << what;
  }
}

TEST(WorkedFigures, AllFiveTextsAreHereAndMostFiguresCanBeShown) {
  std::set<std::string> texts;
  int shown = 0, all = 0;
  for (const WorkedFigure& one : worked_figures()) {
    texts.insert(one.source.substr(0, one.source.find(',')));
    shown += one.shown_by == ShownBy::Arithmetic ? 0 : 1;
    ++all;
    if (one.settings) {
      EXPECT_NO_THROW(validate(*one.settings)) << one.what;
    }
  }
  EXPECT_EQ(texts.size(), 5u);
  EXPECT_EQ(shown, all);
}

TEST(WorkedFigures, ASkippedAllReduceIsRunBesideTheSoundOne) {
  for (const WorkedFigure& one : figures_of_runs()) {
    EXPECT_EQ(one.printed, "trains to garbage");
    EXPECT_LT(one.exact, one.by_formula) << one.what << ": it learns";
    EXPECT_GT(one.exact, 1) << one.what;
    ASSERT_TRUE(one.fault && one.settings);
    EXPECT_EQ(one.shown_by, ShownBy::BreakIt);
    EXPECT_NE(one.reason.find("looks healthy"), std::string::npos) << one.reason;
  }
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
