// Splits side by side: of those that cut, megatron sends least; replicated sends nothing but holds most.
#include "engine/cost/compare_splits.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "engine/config/splits.h"

namespace shardlens {
namespace compare_splits_test {

const SplitCost& named(const std::vector<SplitCost>& costs, const std::string& name) {
  return *std::find_if(costs.begin(), costs.end(),
                       [&](const SplitCost& cost) { return cost.split.name == name; });
}

Settings at_degree(int tp) {
  Settings settings;
  settings.tp = tp;
  return settings;
}

TEST(CompareSplits, MegatronSendsLeastOfThoseThatCut) {
  const auto costs = compare_splits(at_degree(4));
  ASSERT_EQ(costs.size(), named_splits().size());
  const SplitCost& megatron = named(costs, "megatron");
  EXPECT_EQ(megatron.meetings.size(), 4u);
  EXPECT_EQ(megatron.sent_bytes, 4 * (2 * int64_t{4} * 1024 * 768 * 3 / 4));
  for (const SplitCost& cost : costs) {
    EXPECT_EQ(cost.refused, "");
    if (cost.split.name == "megatron" || cost.split.name == "replicated") continue;
    EXPECT_GT(cost.sent_bytes, megatron.sent_bytes) << cost.split.name;
  }
}

TEST(CompareSplits, ReplicatedSendsNothingComputesAndHoldsMost) {
  const auto costs = compare_splits(at_degree(4));
  const SplitCost& replicated = named(costs, "replicated");
  EXPECT_TRUE(replicated.meetings.empty());
  EXPECT_GT(replicated.flops, 2 * named(costs, "megatron").flops);
  EXPECT_GT(replicated.arena_bytes, named(costs, "megatron").arena_bytes);
}

TEST(CompareSplits, ASplitOfOnesOwnComesFirst) {
  Settings settings = at_degree(2);
  settings.split.name = "mine";
  settings.split.mlp_proj = Cut::Replicated;
  const auto costs = compare_splits(settings);
  EXPECT_EQ(costs.size(), named_splits().size() + 1);
  EXPECT_EQ(costs.front().split, settings.split);
}

TEST(CompareSplits, ADegreeThatCannotBeIsRefusedInWords) {
  const auto costs = compare_splits(at_degree(5));
  EXPECT_THAT(named(costs, "megatron").refused, ::testing::HasSubstr("5"));
}

}  // namespace compare_splits_test
}  // namespace shardlens
