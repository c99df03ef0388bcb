// Runs on GPUs against the same runs on the CPU: only where there is a GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "engine/device/gpu_module.h"
#include "engine/io/half.h"
#include "engine/planner/fusion.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/gather.h"
#include "engine/runtime/gpu_room.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace {

class GpuParity : public ::testing::Test {
 protected:
  void SetUp() override {
    if (gpu_facts().gpus.empty()) GTEST_SKIP() << "skipped: no CUDA device";
  }
};

std::map<std::string, GatheredTensor> run_on(BackendChoice backend, Settings settings) {
  settings.backend = backend;
  const auto plan = make_plan(settings);
  const auto gather = std::make_shared<Gather>(settings.tp, [](const Tensor& t) {
    return t.kind != MemoryKind::Workspace && t.dtype != DType::Int32;
  });
  testing::run(plan, {gather});
  return gather->tensors();
}

std::vector<double> values_of(const GatheredTensor& tensor) {
  const int64_t count = element_count(tensor.shape);
  std::vector<double> values(static_cast<size_t>(count));
  if (is_half(tensor.dtype)) {
    const std::vector<float> wide = widened(tensor.dtype, tensor.bytes.data(), count);
    std::copy(wide.begin(), wide.end(), values.begin());
  } else if (tensor.dtype == DType::Fp64) {
    std::copy_n(reinterpret_cast<const double*>(tensor.bytes.data()), count, values.begin());
  } else {
    std::copy_n(reinterpret_cast<const float*>(tensor.bytes.data()), count, values.begin());
  }
  return values;
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
  for (const auto& [name, tensor] : gpu) {
    const std::vector<double> expected = values_of(cpu.at(name)), found = values_of(tensor);
    double difference = 0, size = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      difference += (found[i] - expected[i]) * (found[i] - expected[i]);
      size += expected[i] * expected[i];
    }
    EXPECT_LE(std::sqrt(difference), bound * std::sqrt(size) + 1e-30)
        << name << " " << to_string(settings.dtype) << " T = " << settings.tp;
  }
}

TEST_F(GpuParity, AContextTakesNoMoreThanIsSetAsideForIt) {
  gpu_module().make_device(0, false);
  const int64_t taken = gpu_facts().gpus.front().context_bytes;
  if (taken < 0) GTEST_SKIP() << "skipped: the driver does not say what is used";
  EXPECT_LE(taken, kContextBytes);
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

TEST_F(GpuParity, SixteenBits) {
  Settings settings = testing::small_model(2);
  settings.dtype = DType::Bf16;
  expect_agreement(settings, 5e-2);
}

}  // namespace
}  // namespace shardlens
