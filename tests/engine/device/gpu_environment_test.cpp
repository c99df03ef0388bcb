// What CUDA and NCCL find in the environment, set before there are threads. The tests on GPUs in this program
// need it too.
#include "engine/device/gpu_environment.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace shardlens {
namespace gpu_environment_test {

const bool prepared = (prepare_gpu_environment(), true);

std::string value_of(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "(none)" : value;
}

/// A variable with the value that it had before.
class Variable {
 public:
  explicit Variable(const char* name) : name_(name), before_(value_of(name)) { unsetenv(name); }
  ~Variable() { before_ == "(none)" ? unsetenv(name_) : setenv(name_, before_.c_str(), 1); }
  void set(const char* value) { setenv(name_, value, 1); }

 private:
  const char* const name_;
  const std::string before_;
};

TEST(GpuEnvironment, IsSetAndAPersonsValuesStay) {
  ASSERT_TRUE(prepared);
  Variable connections("CUDA_DEVICE_MAX_CONNECTIONS"), nvls("NCCL_NVLS_ENABLE"),
      connect("NCCL_RUNTIME_CONNECT");
  nvls.set("2");
  prepare_gpu_environment();
  EXPECT_EQ(value_of("CUDA_DEVICE_MAX_CONNECTIONS"), "32");
  EXPECT_EQ(value_of("NCCL_NVLS_ENABLE"), "2");
  EXPECT_EQ(value_of("NCCL_RUNTIME_CONNECT"), "0");
  unsetenv("NCCL_NVLS_ENABLE");
  prepare_gpu_environment();
  EXPECT_EQ(value_of("NCCL_NVLS_ENABLE"), "0");
}

TEST(GpuEnvironment, NcclMayPutRanksOnAGpuOnlyWhereTheyShare) {
  if (value_of("NCCL_MULTI_RANK_GPU_ENABLE") != "0")
    GTEST_SKIP() << "skipped: ranks have shared a GPU before";
  const char* const found = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  let_nccl_share_gpus();
  EXPECT_EQ(std::getenv("NCCL_MULTI_RANK_GPU_ENABLE"), found) << "nothing moves under a thread that reads";
  EXPECT_STREQ(found, "1");
}

}  // namespace gpu_environment_test
}  // namespace shardlens
