// The installed folder runs elsewhere: moved, without an environment, with libraries of its own.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/app/process.h"

namespace shardlens {
namespace {

namespace fs = std::filesystem;

class Bundle : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const fs::path made = fs::path(::testing::TempDir()) / ("bundle_made_" + std::to_string(getpid()));
    const Ended ended =
        run_program(SHARDLENS_CMAKE, "--install " SHARDLENS_BUILD " --prefix " + made.string());
    ASSERT_EQ(ended.code, 0) << ended.out << ended.err;
    folder_ = fs::path(::testing::TempDir()) / ("bundle_moved_" + std::to_string(getpid()));
    fs::rename(made, folder_);
  }
  static void TearDownTestSuite() { fs::remove_all(folder_); }

  static Ended run(const std::string& arguments) {
    return run_program("env -i " + (folder_ / "bin/shardlens-cli").string(), arguments);
  }

  static inline fs::path folder_;
};

TEST_F(Bundle, RunsWhereItWasMovedToWithoutAnEnvironment) {
  const Ended ended = run("verify --model gpt2-tiny --tp 2 --batch 1 --seq 8");
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
}

TEST_F(Bundle, TakesNothingFromOutsideButTheSystem) {
  for (const auto& entry : fs::directory_iterator(folder_ / "bin")) {
    if (entry.path().filename() != "shardlens-cli") continue;
    const Ended ended = run_program("env -i /usr/bin/ldd", entry.path().string());
    ASSERT_EQ(ended.code, 0) << ended.err;
    std::istringstream lines(ended.out);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_EQ(line.find("not found"), std::string::npos) << line;
      const size_t arrow = line.find("=> ");
      if (arrow == std::string::npos) continue;
      const std::string name =
          fs::path(line.substr(arrow + 3, line.find(" (") - arrow - 3)).filename().string();
      const bool own = line.find(folder_.string()) != std::string::npos;
      const bool system = name.rfind("libc.so", 0) == 0 || name.rfind("libm.so", 0) == 0 ||
                          name.rfind("libdl.so", 0) == 0 || name.rfind("libpthread.so", 0) == 0 ||
                          name.rfind("librt.so", 0) == 0 || name.rfind("libmvec.so", 0) == 0 ||
                          name.rfind("libstdc++.so", 0) == 0 || name.rfind("libgcc_s.so", 0) == 0;
      EXPECT_TRUE(own || system) << line;
    }
  }
}

TEST_F(Bundle, BringsTheModuleThatWasBuilt) {
  const Ended ended = run("info --backends --json");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const std::string why = nlohmann::json::parse(ended.out)["cuda"]["why_not"];
  if (!fs::exists(folder_ / "lib/libshardlens_cuda.so")) GTEST_SKIP() << "built without CUDA: " << why;
  EXPECT_EQ(why.find("not beside the program"), std::string::npos) << why;
}

}  // namespace
}  // namespace shardlens
