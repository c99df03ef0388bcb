// A whole model in the Session: it is run, timed and compared like a layer, within a memory budget; its loss
// runs in both forms on request.
#include <gtest/gtest.h>

#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "engine/planner/planner.h"
#include "engine/record/sample.h"
#include "engine/runtime/session/session.h"

namespace shardlens {
namespace session_model_test {

constexpr double kLimitSeconds = 240;  // generous: a sanitizer build on a busy machine

Settings tiny_model(const std::string& preset, int tp, int dp = 1) {
  Settings settings;
  settings.model = model_preset(preset);
  settings.model.layers = 2;
  settings.split = named_split("megatron");
  settings.block = Block::Model;
  settings.tp = tp;
  settings.dp = dp;
  settings.batch = 2;
  settings.seq = 16;
  return settings;
}

TEST(SessionModel, AWholeModelIsRunTimedAndCompared) {
  for (const char* preset : {"gpt2-tiny", "bert-tiny"}) {
    Session session(tiny_model(preset, 2));
    const auto snapshot = session.wait_until_idle(kLimitSeconds);
    ASSERT_EQ(snapshot->state, RunState::Done) << snapshot->message;
    const Result& result = *snapshot->result;
    EXPECT_TRUE(result.timed);
    EXPECT_TRUE(result.parity_summary.agrees) << preset;
    EXPECT_TRUE(result.not_compared.empty());
    EXPECT_EQ(result.events[1].size(), snapshot->plan->program.steps.size());
    EXPECT_GT(result.gemm_ceiling_flops, 0);
  }
}

TEST(SessionModel, ReplicasAndTheOptimizerRunToo) {
  Settings settings = tiny_model("gpt2-tiny", 2, 2);
  settings.update = true;
  Session session(settings);
  const auto snapshot = session.wait_until_idle(kLimitSeconds);
  ASSERT_EQ(snapshot->state, RunState::Done) << snapshot->message;
  EXPECT_TRUE(snapshot->result->parity_summary.known);
  EXPECT_TRUE(snapshot->result->parity_summary.agrees)
      << snapshot->plan->program.tensor(snapshot->result->parity_summary.worst_tensor).name << " "
      << snapshot->result->parity_summary.worst_relative_error;
}

// The serial run pads its vocabulary as the sharded one does, so another T needs another serial run.
TEST(SessionModel, AnotherDegreeIsComparedWithItsOwnSerialRun) {
  Settings settings = tiny_model("gpt2-tiny", 2);
  settings.model.vocab = 300;  // 512 rows at T = 2 and 384 at T = 3
  Session session(settings);
  session.wait_until_idle(kLimitSeconds);
  settings.tp = 3;
  settings.heads_policy = HeadsPolicy::Uneven;
  session.send(command::SetSettings{settings});
  const auto snapshot = session.wait_until_idle(kLimitSeconds);
  ASSERT_EQ(snapshot->state, RunState::Done) << snapshot->message;
  const Program& program = snapshot->plan->program;
  for (const Tensor& tensor : program.tensors) {
    if (tensor.name == "logits") {
      EXPECT_NE(snapshot->result->parity[static_cast<size_t>(tensor.id)], nullptr);
    }
  }
}

TEST(SessionModel, BothLossesAreRunWhenAskedFor) {
  Settings settings = tiny_model("gpt2-tiny", 4);
  settings.batch = 16;  // so that the collected logits find no room in gradients that are not written yet
  Session session(settings);
  auto snapshot = session.wait_until_idle(kLimitSeconds);
  ASSERT_NE(snapshot->lens, nullptr);
  EXPECT_FALSE(snapshot->lens->fused.measured);
  // Three numbers per token, all-reduced, against an all-gather of the logits.
  const int64_t tokens = 16 * 16, vocab = 512, ranks = 4;
  EXPECT_EQ(snapshot->lens->fused.sent_bytes, 3 * (2 * tokens * 4 * (ranks - 1) / ranks));
  EXPECT_EQ(snapshot->lens->gathered.sent_bytes, tokens * vocab * 4 * (ranks - 1) / ranks);
  EXPECT_EQ(snapshot->lens->paper_gathered_bytes, int64_t{8} * 1024 * 51200 * 4 * 7 / 8);
  session.send(command::CompareLosses{});
  snapshot = session.wait_until_idle(kLimitSeconds);
  EXPECT_EQ(snapshot->state, RunState::Done) << snapshot->message;
  const LossLens& lens = *snapshot->lens;
  ASSERT_TRUE(lens.fused.measured && lens.gathered.measured);
  EXPECT_GT(lens.fused.loss, 1);
  EXPECT_NEAR(lens.fused.loss, lens.gathered.loss, 1e-5 * lens.fused.loss);
  EXPECT_GT(lens.gathered.high_water_bytes, lens.fused.high_water_bytes);
  EXPECT_GT(lens.fused.step_seconds, lens.fused.loss_seconds);
}

TEST(SessionModel, WhatRecomputingKeepsIsPlannedWhenAskedFor) {
  Settings settings = tiny_model("gpt2-tiny", 2);
  Session session(settings);
  EXPECT_EQ(session.wait_until_idle(kLimitSeconds)->recompute, nullptr);
  session.send(command::PlanRecompute{});
  auto snapshot = session.wait_until_idle(kLimitSeconds);
  ASSERT_NE(snapshot->recompute, nullptr);
  const auto expected = compare_recompute(settings);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ((*snapshot->recompute)[i].activation_bytes, expected[i].activation_bytes);
  settings.batch = 4;  // the figures were another batch's
  session.send(command::SetSettings{settings});
  snapshot = session.wait_until_idle(kLimitSeconds);
  EXPECT_EQ(snapshot->recompute, nullptr);
}

TEST(SessionModel, NoRunIsFasterThanTheCeilingItIsHeldAgainst) {
  Settings settings = tiny_model("gpt2-tiny", 2);
  Session session(settings);
  const double small = session.wait_until_idle(kLimitSeconds)->result->gemm_ceiling_flops;
  // Products many times as large: what the tiny ones reached is no ceiling for them.
  settings.block = Block::Mlp;
  settings.model = model_preset("gpt2");
  settings.batch = 4;
  settings.seq = 128;
  session.send(command::SetSettings{settings});
  const auto snapshot = session.wait_until_idle(kLimitSeconds);
  ASSERT_EQ(snapshot->state, RunState::Done) << snapshot->message;
  EXPECT_GE(snapshot->result->gemm_ceiling_flops, small);
  EXPECT_GT(snapshot->result->flops_per_second, 0);
  EXPECT_LE(snapshot->result->flops_per_second, snapshot->result->gemm_ceiling_flops);
}

TEST(SessionModel, OneRankHasNoLossToCompare) {
  Session session(tiny_model("gpt2-tiny", 1));
  EXPECT_EQ(session.wait_until_idle(kLimitSeconds)->lens, nullptr);
}

TEST(SamplePlan, KeepsTheSmallestExactWithinTheBudget) {
  const Program program = plan_program(tiny_model("gpt2-tiny", 2));
  const SamplePlan all = plan_samples(program);
  EXPECT_EQ(all.exact, all.sampled);
  const int64_t budget = 256 << 10;
  const SamplePlan some = plan_samples(program, budget);
  EXPECT_LT(some.exact, some.sampled);
  EXPECT_GT(some.exact, 0);
  int64_t kept = 0, largest_kept = 0, smallest_dropped = INT64_MAX;
  for (const Tensor& tensor : program.tensors) {
    if (tensor.kind == MemoryKind::Workspace) continue;
    const int64_t bytes = tensor.bytes() * (tensor.layout.kind == LayoutKind::Partial ? 2 : 1);
    const bool exact = some.details[static_cast<size_t>(tensor.id)].exact_elements > 0;
    kept += exact ? bytes : 0;
    if (exact) largest_kept = std::max(largest_kept, bytes);
    if (!exact) smallest_dropped = std::min(smallest_dropped, bytes);
  }
  EXPECT_LE(kept, budget);
  EXPECT_LE(largest_kept, smallest_dropped);
}

}  // namespace session_model_test
}  // namespace shardlens
