// The savings of recomputation equal the difference between the plans.
#include "engine/cost/compare_recompute.h"

#include <gtest/gtest.h>

#include "engine/config/presets.h"
#include "engine/planner/memory_plan.h"
#include "engine/planner/planner.h"

namespace shardlens {
namespace compare_recompute_test {

TEST(CompareRecompute, EachKeepsLessThanTheOneBefore) {
  Settings settings;
  settings.model = model_preset("gpt2-tiny");
  settings.block = Block::Model;
  settings.tp = 2;
  settings.seq = 128;
  const auto costs = compare_recompute(settings);
  EXPECT_EQ(costs[0].recompute, Recompute::None);
  EXPECT_LT(costs[1].activation_bytes, costs[0].activation_bytes);
  EXPECT_LT(costs[2].activation_bytes, costs[1].activation_bytes);
  settings.recompute = Recompute::Full;
  const MemoryPlan plan = plan_memory(plan_program(settings), 0);
  constexpr auto kActivation = static_cast<size_t>(MemoryKind::Activation);
  EXPECT_GT(costs[2].activation_bytes, 0);
  EXPECT_LE(costs[2].activation_bytes, plan.arena_bytes[kActivation] + plan.borrowed_bytes[kActivation]);
}

// Without the probabilities, activations grow with the sequence and no longer with its square.
TEST(CompareRecompute, SelectiveGrowsWithTheSequence) {
  Settings settings;
  settings.model = model_preset("gpt2-tiny");
  settings.model.positions = 1024;
  settings.block = Block::Model;
  settings.batch = 1;
  const auto growth = [&](size_t which) {
    settings.seq = 512;
    const auto half = static_cast<double>(compare_recompute(settings)[which].activation_bytes);
    settings.seq = 1024;
    return static_cast<double>(compare_recompute(settings)[which].activation_bytes) / half;
  };
  EXPECT_GT(growth(0), 2.5);
  EXPECT_NEAR(growth(1), 2, 0.01);
}

}  // namespace compare_recompute_test
}  // namespace shardlens
