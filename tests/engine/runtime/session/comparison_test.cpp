// The Comparison: plans come at once, measurements on request, and both can be cancelled.
#include "engine/runtime/session/comparison.h"

#include <gmock/gmock.h>

#include "engine/config/splits.h"
#include "engine/runtime/measure/rounds.h"
#include "engine/runtime/step_times.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace comparison_test {

using namespace comparison_command;
using ::testing::HasSubstr;
using testing::small_layer;
using testing::small_model;

constexpr double kLimitSeconds = 240;  // generous: a sanitizer build on a busy machine

TEST(SplitTrials, MegatronAndReversedAreCountedAndRun) {
  Settings settings = small_layer(4);
  settings.hardware = "a100-80gb";
  SplitTrials trials = plan_trials(settings, {named_split("megatron"), named_split("reversed")});
  ASSERT_EQ(trials.trials.size(), 2u);
  EXPECT_FALSE(trials.measured());
  for (SplitTrial& trial : trials.trials) {
    ASSERT_TRUE(trial.plan) << trial.refused;
    run_whole(run_trial(trial, {.passes = 1}));
    ASSERT_TRUE(trial.result) << trial.refused;
    EXPECT_EQ(trial.measured_bytes, trial.planned_bytes);
    EXPECT_GT(trial.measured_seconds, 0);
    EXPECT_GT(trial.predicted_seconds, 0);
    EXPECT_EQ(trial.result->events[3].size(), trial.plan->program.steps.size());
    for (const Step& step : trial.plan->program.steps)
      EXPECT_TRUE(trial.result->samples[0][static_cast<size_t>(step.outputs[0])]) << step.name;
  }
  EXPECT_TRUE(trials.measured());
  const SplitTrial &megatron = trials.trials[0], &reversed = trials.trials[1];
  EXPECT_EQ(megatron.forward_collectives, 2);
  EXPECT_EQ(megatron.backward_collectives, 2);
  EXPECT_GT(reversed.forward_collectives, megatron.forward_collectives);
  EXPECT_GT(reversed.sent_bytes, megatron.sent_bytes);
}

TEST(SplitTrials, RoundsAddUpAndTheirFastestIsShown) {
  SplitTrials trials = plan_trials(small_layer(2), {named_split("megatron")});
  SplitTrial& trial = trials.trials[0];
  for (int round = 0; round < 3; ++round) run_whole(run_trial(trial, {.passes = 1}));
  ASSERT_EQ(trial.round_seconds.size(), 3u);
  const RoundSpread spread = spread_of(trial.round_seconds);
  EXPECT_EQ(trial.measured_seconds, spread.median);
  EXPECT_EQ(compare_times(*trial.plan, trial.result->events).measured_seconds, spread.least);
  const TensorId made = trial.plan->program.steps[0].outputs[0];
  EXPECT_TRUE(trial.result->samples[0][static_cast<size_t>(made)]) << "whichever round was the fastest";
  begin_rounds(trial);
  run_whole(run_trial(trial, {.passes = 1}));
  EXPECT_EQ(trial.round_seconds.size(), 1u) << "an earlier measurement does not count";
}

TEST(SplitTrials, WhatCannotBePlannedSaysWhy) {
  const SplitTrials trials = plan_trials(small_layer(5), {named_split("megatron")});
  EXPECT_FALSE(trials.trials[0].plan);
  EXPECT_THAT(trials.trials[0].refused, HasSubstr("Try 4 or 6"));
  EXPECT_TRUE(trials.measured()) << "nothing of it can be";
}

TEST(Comparison, SplitsArePlannedAndThenMeasured) {
  Comparison comparison;
  comparison.send(PlanSplits{small_layer(2), {named_split("megatron"), named_split("reversed")}});
  auto now = comparison.wait_until_idle(kLimitSeconds);
  ASSERT_TRUE(now->trials);
  EXPECT_FALSE(now->trials->measured());
  comparison.send(RunSplits{});
  now = comparison.wait_until_idle(kLimitSeconds);
  EXPECT_TRUE(now->trials->measured());
  for (const SplitTrial& trial : now->trials->trials)
    EXPECT_EQ(trial.round_seconds.size(), static_cast<size_t>(kSplitRounds)) << trial.split.name;
  EXPECT_FALSE(now->busy);
  EXPECT_EQ(now->message, "");
  // Other settings are planned anew, and nothing of them is measured.
  comparison.send(PlanSplits{small_layer(3), {named_split("megatron")}});
  now = comparison.wait_until_idle(kLimitSeconds);
  EXPECT_EQ(now->trials->settings.tp, 3);
  EXPECT_FALSE(now->trials->measured());
}

TEST(Comparison, ASweepRunsEveryDegreeThatIsPossible) {
  Comparison comparison;
  comparison.send(SweepDegrees{small_layer(1), {1, 2, 8}});
  const auto now = comparison.wait_until_idle(kLimitSeconds);
  ASSERT_TRUE(now->sweep);
  EXPECT_TRUE(now->sweep->points[0].measured);
  EXPECT_TRUE(now->sweep->points[1].measured);
  EXPECT_FALSE(now->sweep->points[2].refused.empty());
  EXPECT_TRUE(now->sweep->agrees());
}

TEST(Comparison, WhatIsGivenUpSaysSoAndKeepsWhatIsDone) {
  Settings settings = small_layer(1);
  settings.batch = 16;
  settings.seq = 64;
  settings.model.hidden = 768;
  settings.model.ffn = 3072;
  Comparison comparison;
  comparison.send(SweepDegrees{settings, std::vector<int>(40, 2)});
  while (!comparison.snapshot()->measuring) {
  }
  comparison.send(Stop{});
  const auto now = comparison.wait_until_idle(kLimitSeconds);
  EXPECT_FALSE(now->measuring);
  EXPECT_THAT(now->message, HasSubstr("stopped"));
  ASSERT_TRUE(now->sweep);
  EXPECT_EQ(now->sweep->points.size(), 40u);
  EXPECT_FALSE(now->sweep->points.back().measured);
}

TEST(Comparison, ATournamentIsHeldAndItsMegatronFound) {
  TournamentWish wish;
  wish.settings = small_model(1);
  wish.settings.hardware = "a100-80gb";
  wish.ranks = 4;
  wish.listed = 6;
  Comparison comparison;
  comparison.send(HoldTournament{wish});
  auto now = comparison.wait_until_idle(kLimitSeconds);
  ASSERT_TRUE(now->tournament);
  const HeldTournament& held = *now->tournament;
  EXPECT_EQ(held.refused, "");
  EXPECT_TRUE(held.has_times);
  EXPECT_FALSE(held.can_run) << "there is no A100 here";
  EXPECT_EQ(held.tournament.listed.size(), 6u);
  ASSERT_LT(held.megatron, held.tournament.entrants.size());
  EXPECT_EQ(held.tournament.entrants[held.megatron].split.name, "megatron");
  comparison.send(RunTop{});
  now = comparison.wait_until_idle(kLimitSeconds);
  EXPECT_TRUE(now->tournament->runs.empty());

  wish.ranks = 97;
  comparison.send(HoldTournament{wish});
  EXPECT_THAT(comparison.wait_until_idle(kLimitSeconds)->tournament->refused, HasSubstr("97"));
}

}  // namespace comparison_test
}  // namespace shardlens
