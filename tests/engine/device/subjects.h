// The devices that are put to the test, and what their tests share.
#pragma once

#include "engine/device/gpu_module.h"
#include "tests/engine/device/on_device.h"

namespace shardlens {

inline std::vector<Subject> subjects() {
  const auto gpu = [] { return gpu_facts().gpus.empty() ? nullptr : gpu_module().make_device(0); };
  return {{"CpuWithTwoThreads", [] { return make_cpu_device(2); }, true}, {"Gpu", gpu, false}};
}

inline std::string subject_name(const testing::TestParamInfo<Subject>& info) {
  return info.param.name;
}

/// A test of one device, made for it; skipped when there is none.
class SubjectTest : public testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    device_ = GetParam().make();
    if (!device_) GTEST_SKIP() << "skipped: no CUDA device";
  }
  Device& device() { return *device_; }
  testing::AssertionResult agree(DType dtype, const Tolerance& tolerance, const Operate& operation) {
    return agrees(*device_, GetParam().as_one_thread, dtype, tolerance, operation);
  }

 private:
  std::unique_ptr<Device> device_;
};

}  // namespace shardlens
