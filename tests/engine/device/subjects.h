// The devices under test, and helpers that their tests share.
#pragma once

#include "tests/engine/device/on_device.h"

namespace shardlens {

/// Those of the test program at hand.
std::vector<Subject> subjects();

inline std::string subject_name(const ::testing::TestParamInfo<Subject>& info) {
  return info.param.name;
}

/// A test of one device, made for it; skipped when there is none.
class SubjectTest : public ::testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    device_ = GetParam().make();
    if (!device_) GTEST_SKIP() << "skipped: no CUDA device";
  }
  Device& device() { return *device_; }
  ::testing::AssertionResult agree(DType dtype, const Tolerance& tolerance, const Operate& operation) {
    return agrees(*device_, GetParam().as_one_thread, dtype, tolerance, operation);
  }

 private:
  std::unique_ptr<Device> device_;
};

}  // namespace shardlens
