// Which ceiling a run is compared with: that of the cores, or that of the GPUs that its ranks use.
#include "engine/runtime/measure/ceiling.h"

#include <gmock/gmock.h>

#include "engine/planner/planner.h"
#include "engine/runtime/choose.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace ceiling_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

GpuFacts machine(int gpus, int nccl) {
  GpuFacts facts;
  for (int i = 0; i < gpus; ++i) {
    facts.gpus.emplace_back();
    facts.gpus.back().number = i;
  }
  facts.nccl_version = nccl;
  return facts;
}

TEST(Ceiling, IsOfTheGpusThatTheRanksAreOnEachOnce) {
  Settings settings = testing::small_model(4);
  EXPECT_THAT(gpus_of(settings, machine(4, kNcclSharesGpus)), IsEmpty()) << "they compute on the CPU";
  settings.backend = BackendChoice::Cuda;
  EXPECT_THAT(gpus_of(settings, machine(8, kNcclSharesGpus)), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(gpus_of(settings, machine(2, kNcclSharesGpus)), ElementsAre(0, 1)) << "two ranks on each";
  EXPECT_THAT(gpus_of(settings, machine(2, 22809)), ElementsAre(0)) << "local_cuda joins those of one GPU";
  settings.gpus = {1};
  EXPECT_THAT(gpus_of(settings, machine(2, 22809)), ElementsAre(1));
  settings.communicator = CommunicatorChoice::Mpi;
  EXPECT_THAT(gpus_of(settings, machine(2, 22809)), ElementsAre(1)) << "this process's rank";
}

// In 16 bits a weight's gradient is stored in fp32, so its product writes twice as many bytes.
TEST(Ceiling, ProductsStoreWhatTheStepStores) {
  Settings settings = testing::small_model(2);
  for (const DType dtype : {DType::Fp32, DType::Bf16}) {
    settings.dtype = dtype;
    const std::vector<GemmShape> shapes = gemm_shapes(plan_program(settings), 0);
    ASSERT_GT(shapes.size(), 3u);
    for (const GemmShape& shape : shapes)
      EXPECT_EQ(shape.wide_result, dtype == DType::Bf16 && shape.transpose_a);
  }
}

TEST(Ceiling, OnTheCpuItIsMeasured) {
  const Settings settings = testing::small_layer(1);
  EXPECT_GT(run_whole(measured_ceiling_flops(settings, {{false, false, 32, 32, 32}})), 0);
}

}  // namespace ceiling_test
}  // namespace shardlens
