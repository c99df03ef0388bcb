// Compares groups of ranks on a GPU with the local group. Runs only with a GPU.
#include "engine/device/gpu_plugin.h"
#include "tests/engine/comm/on_gpus.h"

namespace shardlens {
namespace gpu_groups_test {

constexpr double kPatienceSeconds = 30;

class GpuGroups : public ::testing::Test {
 protected:
  void SetUp() override {
    if (gpu_facts().gpus.empty()) GTEST_SKIP() << "skipped: no CUDA device";
  }
};

std::unique_ptr<Device> first_gpu(int) {
  return gpu_plugin().make_device(gpu_facts().gpus.front().number, false);
}

TEST_F(GpuGroups, RanksThatShareAGpuGetTheLocalOnesBits) {
  std::mt19937 random(12);
  for (int ranks = 1; ranks <= 5; ++ranks) {
    auto group = gpu_plugin().make_local_cuda_group(ranks, "a test", kPatienceSeconds, false);
    DrawnAndDone(random, ranks, 40).expect_the_same(group, first_gpu, "one GPU");
  }
}

// All that a rank alone asks of NCCL: what there is to exchange is its own.
TEST_F(GpuGroups, NcclBeginsDoesAllCollectivesAndEnds) {
  if (gpu_facts().nccl_version == 0) GTEST_SKIP() << "skipped: " << gpu_facts().why_no_nccl;
  std::mt19937 random(13);
  auto group = gpu_plugin().make_nccl_group(1, 1, "a test", kPatienceSeconds, false);
  DrawnAndDone(random, 1, 40).expect_the_same(group, first_gpu, "NCCL");
}

}  // namespace gpu_groups_test
}  // namespace shardlens
