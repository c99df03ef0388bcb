// The points of the Scaling tab: those of the paper, of the model and of this machine never share a curve,
// and each states its source.
#include "ui/panels/scaling/scaling_rows.h"

#include <gmock/gmock.h>

#include "engine/config/presets.h"
#include "engine/runtime/session/scaling_snapshot.h"
#include "ui/panels/scaling/scaling_view.h"

namespace shardlens::ui {
namespace scaling_rows_test {

using ::testing::HasSubstr;

ScalingSnapshot everything() {
  ScalingSnapshot snapshot;
  auto paper = std::make_shared<PaperScaling>();
  paper->points = paper_scaling();
  paper->predicted_on = paper_hardware().title;
  paper->basis = paper_hardware().basis;
  snapshot.paper = paper;
  auto measured = std::make_shared<MeasuredScaling>();
  measured->machine = "a test's machine";
  measured->layer.model = model_preset("gpt2");
  measured->points = {{ScalingSeries::Strong, 1, 768, 12, 0.1, 1e9, 1},
                      {ScalingSeries::Weak, 1, 768, 12, 0.1, 1e9, 1},
                      {ScalingSeries::Strong, 2, 768, 12, 0.06, 1.7e9, 1.7},
                      {ScalingSeries::Weak, 2, 1024, 16, 0.1, 1.8e9, 0.9},
                      {ScalingSeries::Heads, 2, 768, 8, 0.06, 1.7e9, 0.85}};
  measured->runs = 6;
  measured->done = 4;
  snapshot.measured = measured;
  return snapshot;
}

std::vector<ScalingCurve> of(ScalingPage page, Source source) {
  std::vector<ScalingCurve> curves;
  for (ScalingCurve& curve : scaling_curves(page, everything())) {
    if (curve.source == source) curves.push_back(std::move(curve));
  }
  return curves;
}

TEST(ScalingCurves, ThePapersPointsAreThePapers) {
  const std::vector<ScalingCurve> weak = of(ScalingPage::Weak, Source::Paper);
  ASSERT_EQ(weak.size(), 2u) << "alone and with replicas";
  EXPECT_EQ(weak[0].dots.back().value, 0.77);
  EXPECT_EQ(weak[1].dots.back().value, 0.74);
  EXPECT_EQ(weak[1].dots.back().x, 512);
  const std::vector<ScalingCurve> modelled = of(ScalingPage::Weak, Source::Model);
  ASSERT_EQ(modelled.size(), 2u);
  EXPECT_EQ(modelled[0].dp, 1);
  EXPECT_EQ(modelled[1].dp, 64) << "the label of the second line";
  const std::vector<ScalingCurve> strong = of(ScalingPage::Strong, Source::Paper);
  ASSERT_EQ(strong.size(), 1u);
  EXPECT_EQ(strong[0].dots.back().value, 2.98);
  const std::vector<ScalingCurve> heads = of(ScalingPage::Heads, Source::Paper);
  ASSERT_EQ(heads.size(), 1u);
  EXPECT_EQ(heads[0].dots.front().x, 16);
  EXPECT_EQ(heads[0].dots.front().value, 0.82);
  for (const ScalingCurve& curve : weak) {
    for (const ScalingDot& dot : curve.dots) EXPECT_FALSE(dot.best) << "a printed figure is no range";
  }
}

TEST(ScalingCurves, TheModelsRangeIsOnlyWhereReplicasAre) {
  const std::vector<ScalingCurve> curves = of(ScalingPage::Weak, Source::Model);
  ASSERT_EQ(curves.size(), 2u);
  for (const ScalingDot& dot : curves[0].dots) EXPECT_FALSE(dot.best);
  for (const ScalingDot& dot : curves[1].dots) {
    ASSERT_TRUE(dot.best);
    EXPECT_GT(*dot.best, dot.value);
    EXPECT_THAT(dot.what, HasSubstr("estimated on DGX-2H"));
  }
}

TEST(ScalingCurves, ThisMachinesPointsStandByThemselves) {
  const std::vector<ScalingCurve> weak = of(ScalingPage::Weak, Source::Here);
  ASSERT_EQ(weak.size(), 1u);
  EXPECT_EQ(weak[0].dots.back().value, 0.9);
  EXPECT_THAT(weak[0].dots.back().what, HasSubstr("measured"));
  EXPECT_EQ(of(ScalingPage::Strong, Source::Here).front().dots.back().x, 2);
  EXPECT_EQ(of(ScalingPage::Heads, Source::Here).front().dots.back().x, 8);
  EXPECT_TRUE(scaling_curves(ScalingPage::Weak, {}).empty()) << "nothing is drawn before it is known";
}

TEST(SourceWords, SayMeasuredOrEstimatedAndOnWhat) {
  const ScalingSnapshot all = everything();
  EXPECT_THAT(source_words(Source::Paper, ScalingPage::Weak, all),
              HasSubstr("Its abstract says 76 %: 15.1 PFLOP/s on 512 GPUs"));
  EXPECT_THAT(source_words(Source::Model, ScalingPage::Strong, all), HasSubstr("estimated on DGX-2H"));
  EXPECT_THAT(source_words(Source::Here, ScalingPage::Heads, all), HasSubstr("measured on a test's machine"));
  EXPECT_THAT(source_words(Source::Here, ScalingPage::Weak, all), HasSubstr("4 of 6"));
  EXPECT_THAT(source_words(Source::Here, ScalingPage::Weak, {}), HasSubstr("not measured"));
}

TEST(ClusterWish, IsATrainingStepOfPartsOfOneSequence) {
  const scaling_command::PriceCluster wish = cluster_wish({});
  EXPECT_EQ(wish.stages, 64);
  EXPECT_EQ(wish.settings.model.name, "gpt-1t");
  EXPECT_EQ(wish.settings.micro_batch(), 1);
  EXPECT_EQ(wish.settings.batch, 6 * 512);
  EXPECT_TRUE(wish.settings.update);
  EXPECT_GT(price_model(wish.settings, find_hardware(wish.settings.hardware), wish.stages).step_seconds, 0);
  for (const std::string& name : cluster_models()) {
    const Model model = model_preset(name);
    for (const int64_t pp : cluster_pp_stops(model)) EXPECT_EQ(model.layers % pp, 0) << name;
    for (const int64_t tp : cluster_tp_stops(model)) EXPECT_EQ(model.heads % tp, 0) << name;
  }
}

TEST(CrossingWish, FillsTheNodeOfTheMachineAsked) {
  ScalingView view;
  Settings run;
  run.model = model_preset("gpt2-xl");
  run.block = Block::Model;
  run.batch = 8;
  run.dp = 2;
  run.micro_batches = 2;
  EXPECT_EQ(crossing_wish(view, run).settings.model.name, "megatron-8.3b");
  view.this_run = true;
  for (const std::string& name : node_machines()) {
    view.crossing = name;
    const Settings settings = crossing_wish(view, run).settings;
    EXPECT_EQ(settings.tp, find_hardware(name).ranks_per_node);
    EXPECT_EQ(settings.model.name, "gpt2-xl");
    EXPECT_EQ(settings.batch, 2) << "what a replica works on at a time";
  }
}

}  // namespace scaling_rows_test
}  // namespace shardlens::ui
