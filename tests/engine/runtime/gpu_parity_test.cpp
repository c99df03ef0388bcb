// Compares runs on GPUs with the same runs on the CPU. Runs only with a GPU.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <thread>

#include "engine/device/gpu_plugin.h"
#include "engine/planner/fusion.h"
#include "engine/runtime/choose.h"
#include "engine/runtime/gather.h"
#include "engine/runtime/gpu_room.h"
#include "tests/engine/agreement.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace gpu_parity_test {

class GpuParity : public ::testing::Test {
 protected:
  void SetUp() override {
    if (gpu_facts().gpus.empty()) GTEST_SKIP() << "skipped: no CUDA device";
  }
};

std::map<std::string, GatheredTensor> run_on(BackendChoice backend, Settings settings) {
  settings.backend = backend;
  if (backend == BackendChoice::Cuda) {
    settings.gpus = {gpu_facts().gpus.front().number};
    // Whatever NCCL there is: ranks that share a GPU by it are another test's matter.
    if (settings.communicator == CommunicatorChoice::Auto)
      settings.communicator = CommunicatorChoice::LocalCuda;
    settings.timeout_seconds = 30;  // a hang is named before whoever runs the tests ends them
  } else {
    settings.communicator = CommunicatorChoice::Auto;
    settings.tf32 = false;
  }
  const auto plan = make_plan(settings);
  const auto gather = std::make_shared<Gather>(settings.tp, [](const Tensor& t) {
    return t.kind != MemoryKind::Workspace && t.dtype != DType::Int32;
  });
  testing::run(plan, {gather});
  return gather->tensors();
}

// Every tensor within `bound` of the CPU's, relative to its own size.
void expect_agreement(const Settings& settings, double bound) {
  const auto cpu = run_on(BackendChoice::Cpu, settings), gpu = run_on(BackendChoice::Cuda, settings);
  // What lies between a product and GeLU's gradient is not there where the two are one step.
  Settings on_gpus = settings;
  on_gpus.backend = BackendChoice::Cuda;
  if (joins_gelu_to_products(on_gpus)) {
    ASSERT_GT(cpu.size(), gpu.size());
  } else {
    ASSERT_EQ(cpu.size(), gpu.size());
  }
  testing::expect_agreement(cpu, gpu, bound,
                            to_string(settings.dtype) + " T = " + std::to_string(settings.tp));
}

/// Whether what is used of the GPU stays as it is while this process asks for nothing.
bool is_left_alone() {
  constexpr int kLooks = 10;
  const int64_t used = gpu_facts().gpus.front().used_bytes;
  for (int look = 0; look < kLooks; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (gpu_facts().gpus.front().used_bytes != used) return false;
  }
  return true;
}

// The context's size is what all of the GPU has less when this process's first device is made. So this
// assumes a process of its own, and that no other one takes or frees memory on the GPU meanwhile.
TEST_F(GpuParity, AContextTakesNoMoreThanIsSetAsideForIt) {
  const char* const others =
      "skipped: another process takes and frees memory on the GPU; run this test alone";
  if (!is_left_alone()) GTEST_SKIP() << others;
  gpu_plugin().make_device(gpu_facts().gpus.front().number, false);
  if (!is_left_alone()) GTEST_SKIP() << others;
  const int64_t taken = gpu_facts().gpus.front().context_bytes;
  if (taken < 0) GTEST_SKIP() << "skipped: the driver does not say what is used";
  EXPECT_LE(taken, kContextBytes + kKernelsBytes);
}

TEST_F(GpuParity, Layers) {
  for (const int tp : {1, 2, 4}) {
    Settings settings = testing::small_layer(tp);
    expect_agreement(settings, 1e-5);
    settings.dtype = DType::Fp64;
    expect_agreement(settings, 1e-13);
  }
}

TEST_F(GpuParity, WholeModelsOfEverySplit) {
  for (const char* split : {"megatron", "megatron-sp", "reversed"}) {
    for (const int tp : {1, 2}) expect_agreement(testing::small_model(tp, 2, split), 1e-5);
  }
  expect_agreement(testing::small_bert(2), 1e-5);
}

// Rows cut by hidden size become rows cut by tokens.
Settings with_an_all_to_all(int tp) {
  Settings settings = testing::small_model(tp, 1, "megatron-sp");
  settings.split.embedding = EmbeddingCut::Hidden;
  return settings;
}

TEST_F(GpuParity, AnAllToAll) {
  expect_agreement(with_an_all_to_all(2), 1e-5);
  expect_agreement(with_an_all_to_all(3), 1e-5);
}

TEST_F(GpuParity, RanksThatShareAGpuByNccl) {
  if (gpu_facts().nccl_version < kNcclSharesGpus) GTEST_SKIP() << "skipped: no NCCL by which they may";
  for (Settings settings : {testing::small_model(2), testing::small_model(2, 1, "megatron-sp"),
                            with_an_all_to_all(2), with_an_all_to_all(3)}) {
    settings.communicator = CommunicatorChoice::Nccl;
    expect_agreement(settings, 1e-5);
  }
}

TEST_F(GpuParity, SixteenBits) {
  Settings settings = testing::small_model(2);
  settings.dtype = DType::Bf16;
  expect_agreement(settings, 5e-2);
  settings.dtype = DType::Fp16;
  expect_agreement(settings, 1e-2);
}

// The CPU rounds no operands of fp32 products: TF32's 11 bits are the difference.
TEST_F(GpuParity, Tf32) {
  Settings settings = testing::small_model(2);
  settings.tf32 = true;
  expect_agreement(settings, 1e-2);
}

}  // namespace gpu_parity_test
}  // namespace shardlens
