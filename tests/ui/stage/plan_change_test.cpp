// What a change of T or split does, in words and by steps; and how long the Stage says it.
#include "ui/stage/plan_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "engine/planner/planner.h"
#include "engine/train/experiments/break_session.h"
#include "tests/ui/studio_harness.h"

namespace shardlens::ui::stage {
namespace plan_change_test {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::shared_ptr<const Plan> plan_of(int tp, const char* split) {
  Settings settings = small_settings();
  settings.tp = tp;
  settings.split = named_split(split);
  StudioHarness harness({1280, 720}, settings);
  harness.wait_until_at_rest();
  return harness.snapshot().plan;
}

int64_t collectives(const Program& program) {
  return std::count_if(program.steps.begin(), program.steps.end(),
                       [](const Step& step) { return is_collective(step.op); });
}

TEST(PlanChange, CountsWhatCameAndNamesWhatLeft) {
  const auto megatron = plan_of(4, "megatron"), reversed = plan_of(4, "reversed");
  const PlanChange change = plan_change(*megatron, *reversed);
  EXPECT_EQ(change.title, "split megatron → reversed");
  const int64_t more = collectives(reversed->program) - collectives(megatron->program);
  EXPECT_THAT(change.figures, HasSubstr(more == 0 ? "collectives as before" : "collective"));
  EXPECT_THAT(change.figures, HasSubstr("sent by a rank"));
  ASSERT_EQ(change.came.size(), reversed->program.steps.size());
  int64_t came = 0, left = static_cast<int64_t>(change.left.size());
  for (const Step& step : reversed->program.steps)
    came += is_collective(step.op) && change.came[static_cast<size_t>(step.id)];
  EXPECT_EQ(came - left, more);
  EXPECT_GT(came, 0);
}

TEST(PlanChange, WithoutAChangeOfThemThereAreNoWords) {
  const auto plan = plan_of(4, "megatron");
  EXPECT_EQ(plan_change(*plan, *plan).title, "");
}

TEST(PlanChange, ASerialPlanLosesEveryCollective) {
  const auto sharded = plan_of(2, "megatron"), serial = plan_of(1, "megatron");
  const PlanChange change = plan_change(*sharded, *serial);
  EXPECT_EQ(change.title, "T 2 → 1");
  EXPECT_EQ(static_cast<int64_t>(change.left.size()), collectives(sharded->program));
  EXPECT_THAT(change.figures,
              HasSubstr("−" + std::to_string(collectives(sharded->program)) + " collectives"));
}

// A whole model has a layer's collectives under longer names. Only of the same part can be said what is gone.
TEST(PlanChange, AnotherPartOrModelHasFiguresButNothingIsCalledGoneOrNew) {
  std::vector<Settings> parts;
  for (const Block block : {Block::Layer, Block::Model, Block::Attention, Block::Mlp}) {
    for (const char* model : {"gpt2-tiny", "bert-tiny"}) {
      Settings settings = small_settings();
      settings.model = model_preset(model);
      settings.block = block;
      settings.tp = 2;
      parts.push_back(settings);
    }
  }
  const auto planned = [](const Settings& settings) {
    Plan plan;
    plan.program = plan_program(settings);
    return plan;
  };
  for (const Settings& before : parts) {
    for (const Settings& after : parts) {
      if (before == after) continue;
      const PlanChange change = plan_change(planned(before), planned(after));
      const std::string which = change.title + " " + before.model.name + " " + after.model.name;
      EXPECT_NE(change.title, "") << which;
      EXPECT_NE(change.figures, "") << which;
      EXPECT_THAT(change.left, ::testing::IsEmpty()) << which;
      EXPECT_THAT(change.came, ::testing::IsEmpty()) << which;
    }
  }
}

TEST(PlanChange, TheStageSaysItUntilTheNextClick) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.draw_frames(4);
  EXPECT_THAT(texts_in(harness, "Stage"), Not(Contains(HasSubstr("sent by a rank"))));
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_2); });
  harness.wait_until_at_rest();
  harness.draw_frames(4);
  EXPECT_THAT(texts_in(harness, "Stage"), Contains(HasSubstr("T 4 → 2")));
  EXPECT_THAT(texts_in(harness, "Stage"), Contains(HasSubstr("sent by a rank")));
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("**/##stage_step_3_rank_0"); });
  harness.draw_frames(2);
  EXPECT_THAT(texts_in(harness, "Stage"), Not(Contains(HasSubstr("sent by a rank"))));
}

// The plans of a planted mistake and of a recording are not the settings': going there and back is no change.
TEST(PlanChange, AMistakeInBetweenIsNoChange) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.draw_frames(4);
  const auto own = harness.view().of<ChangeView>().plan;
  ASSERT_NE(own, nullptr);
  harness.studio().breaks().send(break_command::Start{harness.snapshot().settings, Fault::SkipF});
  harness.studio().breaks().wait_until_idle(120);
  harness.draw_frames(6);
  ASSERT_NE(harness.snapshot().plan, own) << "the Stage shows the broken run";
  EXPECT_EQ(harness.view().of<ChangeView>().plan, own);
  EXPECT_THAT(texts_in(harness, "Stage"), Not(Contains(HasSubstr("sent by a rank"))));
}

}  // namespace plan_change_test
}  // namespace shardlens::ui::stage
