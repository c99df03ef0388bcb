// Where the program looks for the GPUs' libraries, and its message if there are no GPUs.
#include "engine/device/gpu_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "engine/base/error.h"
#include "engine/device/gpu_libraries.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace gpu_plugin_test {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

TEST(GpuPlugin, FactsAreThereWithAndWithoutGpus) {
  const GpuFacts facts = gpu_facts();
  EXPECT_EQ(facts.gpus.empty(), !facts.why_no_gpu.empty()) << facts.why_no_gpu;
  EXPECT_EQ(facts.nccl_version == 0, !facts.why_no_nccl.empty()) << facts.why_no_nccl;
  for (const Gpu& gpu : facts.gpus) {
    EXPECT_FALSE(gpu.name.empty());
    EXPECT_GT(gpu.memory_bytes, 0);
  }
}

TEST(GpuPlugin, ItsRefusalIsTheSameEveryTime) {
  const auto refusal = [] {
    try {
      gpu_plugin();
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

class GpuLibraries : public TestFolder {
 protected:
  std::string put(const std::string& file) const {
    fs::create_directories(fs::path(path(file)).parent_path());
    return write(file, "library");
  }
  GpuSurroundings surroundings() const {
    GpuSurroundings surroundings;
    surroundings.program_folder = path("program/bin");
    surroundings.asked_for = path("asked") + "::" + path("nowhere");
    surroundings.pythons = {path("python")};
    surroundings.toolkit = path("cuda");
    return surroundings;
  }
};

TEST_F(GpuLibraries, OnlyTheLinkerIsAskedWhereNothingIsFound) {
  EXPECT_THAT(library_places("libnccl.so.2", surroundings()), ElementsAre("libnccl.so.2"));
}

TEST_F(GpuLibraries, FoundInTheirOrder) {
  const std::string python = put("python/lib/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2");
  const std::string newer = put("python/lib/python3.12/dist-packages/nvidia/cu13/lib/libnccl.so.2");
  const std::string toolkit = put("cuda/lib64/libnccl.so.2");
  fs::create_directories(path("program/bin"));
  put("program/lib/libnccl.so.2");
  const std::string asked = put("asked/libnccl.so.2");
  put("python/lib/python3.11/site-packages/nvidia/nccl/lib/libother.so");
  put("python/lib/perl/site-packages/nvidia/nccl/lib/libnccl.so.2");
  EXPECT_THAT(
      library_places("libnccl.so.2", surroundings()),
      ElementsAre(asked, path("program/bin/../lib/libnccl.so.2"), "libnccl.so.2", toolkit, python, newer));
}

// As on a server whose PyTorch is in an environment that nobody has activated.
TEST_F(GpuLibraries, APythonIsFoundByThePathAlone) {
  put("environment/bin/python3");
  fs::create_directories(path("tools/bin"));
  const std::string usual = getenv("PATH");
  const std::string places = path("tools/bin") + "::" + path("environment/bin/");
  setenv("PATH", places.c_str(), 1);
  const std::vector<std::string> pythons = GpuSurroundings::of_this_process().pythons;
  setenv("PATH", usual.c_str(), 1);
  EXPECT_THAT(pythons, ::testing::Contains(path("environment")));
  EXPECT_THAT(pythons, ::testing::Not(::testing::Contains(path("tools"))));
}

// A folder that depends on the current one may be anybody's.
TEST_F(GpuLibraries, NoPlaceIsRelative) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  put("bin/python3");
  put("lib/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2");
  put("lib64/libnccl.so.2");
  put("libnccl.so.2");
  const std::vector<const char*> names{"PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "HOME", "CUDA_HOME"};
  std::vector<std::string> usual;
  for (const char* name : names) {
    const char* const value = getenv(name);
    usual.emplace_back(value == nullptr ? "" : value);
    setenv(name, std::string(name) == "PATH" ? "bin:.:" : ".", 1);
  }
  GpuSurroundings found = GpuSurroundings::of_this_process();
  for (size_t i = 0; i < names.size(); ++i)
    usual[i].empty() ? unsetenv(names[i]) : setenv(names[i], usual[i].c_str(), 1);
  found.asked_for.clear();
  found.program_folder.clear();  // as without /proc
  for (const std::string& place : library_places("libnccl.so.2", found))
    EXPECT_TRUE(place == "libnccl.so.2" || fs::path(place).is_absolute()) << place;
  found.asked_for = "lib64";
  EXPECT_THAT(error_of([&] { library_places("libnccl.so.2", found); }),
              ::testing::HasSubstr("SHARDLENS_CUDA_LIBRARIES names \"lib64\", which is not a full path"));
  fs::current_path(before);
}

}  // namespace gpu_plugin_test
}  // namespace shardlens
