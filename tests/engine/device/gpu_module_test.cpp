// Where the GPUs' libraries are looked for, and what is said where there are no GPUs.
#include "engine/device/gpu_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "engine/config/error.h"
#include "engine/device/gpu_libraries.h"

namespace shardlens {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

TEST(GpuModule, FactsAreThereWithAndWithoutGpus) {
  const GpuFacts facts = gpu_facts();
  EXPECT_EQ(facts.gpus.empty(), !facts.why_no_gpu.empty()) << facts.why_no_gpu;
  EXPECT_EQ(facts.nccl_version == 0, !facts.why_no_nccl.empty()) << facts.why_no_nccl;
  for (const Gpu& gpu : facts.gpus) {
    EXPECT_FALSE(gpu.name.empty());
    EXPECT_GT(gpu.memory_bytes, 0);
  }
}

TEST(GpuModule, ItsRefusalIsTheSameEveryTime) {
  const auto refusal = [] {
    try {
      gpu_module();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string first = refusal();
  if (first.empty()) GTEST_SKIP() << "the module is here, and opened";
  EXPECT_EQ(refusal(), first);
  EXPECT_EQ(gpu_facts().why_no_gpu, first);
}

class GpuLibraries : public ::testing::Test {
 protected:
  GpuLibraries() : root_(fs::path(::testing::TempDir()) / "gpu_libraries") { fs::remove_all(root_); }
  ~GpuLibraries() override { fs::remove_all(root_); }

  std::string put(const std::string& file) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << "library";
    return (root_ / file).string();
  }
  Surroundings surroundings() const {
    Surroundings surroundings;
    surroundings.program_folder = (root_ / "program/bin").string();
    surroundings.asked_for = (root_ / "asked").string() + "::" + (root_ / "nowhere").string();
    surroundings.pythons = {(root_ / "python").string()};
    surroundings.toolkit = (root_ / "cuda").string();
    return surroundings;
  }

  const fs::path root_;
};

TEST_F(GpuLibraries, OnlyTheLinkerIsAskedWhereNothingIsFound) {
  EXPECT_THAT(library_places("libnccl.so.2", surroundings()), ElementsAre("libnccl.so.2"));
}

TEST_F(GpuLibraries, FoundInTheirOrder) {
  const std::string python = put("python/lib/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2");
  const std::string newer = put("python/lib/python3.12/dist-packages/nvidia/cu13/lib/libnccl.so.2");
  const std::string toolkit = put("cuda/lib64/libnccl.so.2");
  fs::create_directories(root_ / "program/bin");
  put("program/lib/libnccl.so.2");
  const std::string asked = put("asked/libnccl.so.2");
  put("python/lib/python3.11/site-packages/nvidia/nccl/lib/libother.so");
  put("python/lib/perl/site-packages/nvidia/nccl/lib/libnccl.so.2");
  EXPECT_THAT(library_places("libnccl.so.2", surroundings()),
              ElementsAre(asked, (root_ / "program/bin/../lib/libnccl.so.2").string(), "libnccl.so.2",
                          toolkit, python, newer));
}

// As on a server whose PyTorch is in an environment that nobody has activated.
TEST_F(GpuLibraries, APythonIsFoundByThePathAlone) {
  put("environment/bin/python3");
  fs::create_directories(root_ / "tools/bin");
  const std::string usual = getenv("PATH");
  const std::string path = (root_ / "tools/bin").string() + "::" + (root_ / "environment/bin/").string();
  setenv("PATH", path.c_str(), 1);
  const std::vector<std::string> pythons = Surroundings::of_this_process().pythons;
  setenv("PATH", usual.c_str(), 1);
  EXPECT_THAT(pythons, ::testing::Contains((root_ / "environment").string()));
  EXPECT_THAT(pythons, ::testing::Not(::testing::Contains((root_ / "tools").string())));
}

}  // namespace
}  // namespace shardlens
