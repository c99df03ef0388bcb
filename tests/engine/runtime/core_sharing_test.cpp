// Waiting is marked only where ranks really shared cores, by the facts of the run.
#include "engine/runtime/core_sharing.h"

#include <gtest/gtest.h>

#include "engine/comm/comm.h"

namespace shardlens {
namespace core_sharing_test {

Result result_of(int tp, int dp, const CommunicatorInfo& communicator) {
  auto plan = std::make_shared<Plan>();
  plan->program.settings.tp = tp;
  plan->program.settings.dp = dp;
  Result result;
  result.plan = plan;
  result.communicator = communicator;
  return result;
}

TEST(CoreSharing, ReadsWhatTheCommunicatorOfThreadsSays) {
  const CommunicatorInfo own = make_local_group(4).front()->info();
  const Result four = result_of(4, 1, own);
  const std::optional<CoreSharing> shared = core_sharing(four);
  const int cores = std::stoi(own.reason.substr(own.reason.find(", ") + 2));
  EXPECT_EQ(shared.has_value(), cores < 4) << own.reason;
  if (shared) {
    EXPECT_EQ(*shared, (CoreSharing{4, cores}));
  }
}

TEST(CoreSharing, CountsTheRanksOfAllReplicas) {
  const CommunicatorInfo info{"local", "4 CPU threads, 4 cores; and why"};
  EXPECT_EQ(core_sharing(result_of(4, 1, info)), std::nullopt);
  EXPECT_EQ(core_sharing(result_of(4, 2, info)), (CoreSharing{8, 4}));
  EXPECT_EQ(core_sharing_words(result_of(4, 2, info)), "8 ranks on 4 cores: ranks wait mostly for a core.");
}

TEST(CoreSharing, SaysNothingOfGpusOrOfWhatItCannotRead) {
  EXPECT_EQ(core_sharing(result_of(4, 1, {"nccl", "4 ranks, 2 cores"})), std::nullopt);
  EXPECT_EQ(core_sharing(result_of(4, 1, {"local", "4 CPU threads"})), std::nullopt);
  EXPECT_EQ(core_sharing_words(result_of(4, 1, {"local", "4 CPU threads, many"})), "");
}

TEST(CoreSharing, WaitingForARankThatWasMadeLateIsForThatRank) {
  auto plan = std::make_shared<Plan>();
  plan->program.settings.tp = 4;
  plan->program.settings.delays = {{2, "attn.proj", 60}};
  Result result = result_of(4, 1, {"local", "4 CPU threads, 2 cores"});
  ASSERT_TRUE(core_sharing(result));
  result.plan = plan;
  EXPECT_EQ(core_sharing(result), std::nullopt);
}

}  // namespace core_sharing_test
}  // namespace shardlens
