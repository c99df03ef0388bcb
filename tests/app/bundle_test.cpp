// The installed folder also runs elsewhere: after a move, with an empty environment, with its own libraries.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cassert>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/app/process.h"
#include "tests/app/search_paths.h"

namespace shardlens {
namespace bundle_test {

namespace fs = std::filesystem;

/// True in the build for debugging, whose programs are larger.
bool has_assertions() {
  bool on = false;
  assert((on = true));
  return on;
}

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

TEST_F(Bundle, LooksForNothingInTheCurrentFolder) {
  size_t looked_at = 0;
  for (const fs::path& folder : {folder_ / "bin", folder_ / "lib"}) {
    for (const fs::path& file : code_in(folder)) {
      expect_no_relative_search_path(file);
      ++looked_at;
    }
  }
  EXPECT_GT(looked_at, 10u);
}

TEST_F(Bundle, EveryLibraryThatItBringsIsInTheListOfLicences) {
  const std::string notices = slurp((folder_ / "THIRD_PARTY.md").string());
  for (const auto& entry : fs::directory_iterator(folder_ / "lib")) {
    const std::string file = entry.path().filename().string(), name = file.substr(0, file.find(".so"));
    if (name.starts_with("libshardlens_")) continue;
    const bool listed = notices.find(" " + name + " ") != std::string::npos;
    EXPECT_TRUE(listed) << file << " is not in THIRD_PARTY.md";
  }
}

TEST_F(Bundle, BringsThePluginThatWasBuilt) {
  const Ended ended = run("info --backends --json");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const std::string why = nlohmann::json::parse(ended.out)["cuda"]["why_not"];
  if (!fs::exists(folder_ / "lib/libshardlens_cuda.so")) GTEST_SKIP() << "built without CUDA: " << why;
  EXPECT_EQ(why.find("not beside the program"), std::string::npos) << why;
}

// For a server behind a limit on what is carried: 64 MB, packed.
TEST_F(Bundle, IsSmallEnoughToBeCarried) {
  if (has_assertions()) GTEST_SKIP() << "a build for debugging is not carried";
  const Ended packed = run_program("tar -C " + folder_.string() + " -cz . | wc -c", "");
  ASSERT_EQ(packed.code, 0) << packed.err;
  EXPECT_GT(std::stoll(packed.out), 1'000'000);
  EXPECT_LT(std::stoll(packed.out), 64'000'000);
}

TEST_F(Bundle, SaysThatThereIsNoGpuToBeginWith) {
  const std::string script = "env -i PATH=/usr/bin:/bin " + (folder_ / "gpu.sh").string();
  const Ended other = run_program(script, "speed");
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("\"speed\" is no folder and no part; parts are tests, verify"), std::string::npos)
      << other.err;
  if (run("info --backends").out.find("cuda  not usable") == std::string::npos)
    GTEST_SKIP() << "there is a GPU";
  const Ended ended = run_program(script, "");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out.rfind("skipped: no CUDA device (", 0), 0u) << ended.out;
}

TEST_F(Bundle, WhereTheDriverShowsAGpuThatCannotBeUsedThatIsAFailure) {
  if (run("info --backends").out.find("cuda  not usable") == std::string::npos)
    GTEST_SKIP() << "there is a GPU";
  const fs::path tools = fs::path(::testing::TempDir()) / ("gpu_tools_" + std::to_string(getpid()));
  fs::create_directories(tools);
  std::ofstream(tools / "nvidia-smi") << "#!/bin/sh\necho 'GPU 0: NVIDIA H200'\n";
  fs::permissions(tools / "nvidia-smi", fs::perms::owner_all);
  const Ended ended =
      run_program("env -i PATH=" + tools.string() + ":/usr/bin:/bin " + (folder_ / "gpu.sh").string(), "");
  fs::remove_all(tools);
  EXPECT_EQ(ended.code, 1) << ended.out;
  EXPECT_NE(ended.err.find("there is a GPU, and it cannot be used: "), std::string::npos) << ended.err;
}

// What gpu.sh makes of a shardlens-cli and an engine_tests that a test wrote.
class GpuParts : public Bundle {
 protected:
  void SetUp() override {
    put("shardlens-cli",
        "case \"$*\" in\n  info*) echo 'cuda  1 GPU' ;;\n  *'--tp 4'*) exit 3 ;;\n"
        "  *) echo done ;;\nesac");
  }
  void TearDown() override { fs::remove_all(folder); }

  void put(const std::string& program, const std::string& script) const {
    fs::create_directories((folder / program).parent_path());
    std::ofstream(folder / program) << "#!/bin/sh\n" << script << "\n";
    fs::permissions(folder / program, fs::perms::owner_all);
  }
  Ended gpu(const std::string& arguments) const {
    return run_program("env -i PATH=/usr/bin:/bin " + (folder_ / "gpu.sh").string(),
                       folder.string() + " --logs " + (folder / "logs").string() + " " + arguments);
  }
  // A line of the table.
  static std::string line(std::string name, const std::string& state) {
    name.resize(44, ' ');
    return name + " " + state;
  }

  const fs::path folder = fs::path(::testing::TempDir()) / ("gpu_parts_" + std::to_string(getpid()));
};

TEST_F(GpuParts, WhatFailsStopsNothingElse) {
  const Ended ended = gpu("verify tests");
  EXPECT_EQ(ended.code, 1) << ended.err;
  for (const std::string& part :
       {line("verify-tp2", "ok"), line("verify-tp4", "FAILED"), line("verify-tp8", "ok"),
        line("verify-nccl-tp2", "skipped"), line("tests", "skipped")})
    EXPECT_NE(ended.out.find(part), std::string::npos) << part << " in\n" << ended.out;
  EXPECT_NE(ended.out.find("exit code 3"), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("bench"), std::string::npos) << "it was not asked for";
  const std::string said = slurp(folder / "logs/verify.txt");
  const size_t last = said.find("=== verify-tp8: ");
  ASSERT_NE(last, std::string::npos) << said;
  EXPECT_NE(said.find("done", last), std::string::npos) << said;
}

TEST_F(GpuParts, EveryTestHasAProcessOfItsOwnAndWhatWasSkippedIsNotOk) {
  put("tests/engine_tests",
      "case \"$*\" in\n"
      "  --gtest_list*) printf 'Running\\nGpuParity.\\n  Layers\\nDevices/EveryDevice.\\n  Slices/Gpu  # "
      "Gpu\\n"
      "  Losses/Gpu  # Gpu\\n' ;;\n"
      "  *=GpuParity.Layers) echo '[  SKIPPED ] GpuParity.Layers' ;;\n"
      "  *=Devices/EveryDevice.Slices/Gpu) exit 1 ;;\nesac");
  const Ended ended = gpu("tests");
  EXPECT_EQ(ended.code, 1) << ended.err;
  for (const std::string& part :
       {line("tests-GpuParity.Layers", "skipped"), line("tests-EveryDevice.Slices", "FAILED"),
        line("tests-EveryDevice.Losses", "ok")})
    EXPECT_NE(ended.out.find(part), std::string::npos) << part << " in\n" << ended.out;
}

TEST_F(GpuParts, NothingBeginsWhenTheTimeIsOver) {
  const Ended ended = gpu("verify --seconds 2");
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_NE(ended.out.find(line("verify-tp2", "LEFT OUT")), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("done"), std::string::npos);
}

TEST_F(GpuParts, TheSameCommandGoesOnWhereTheLastOneStopped) {
  EXPECT_EQ(gpu("verify").code, 1);
  put("shardlens-cli", "case \"$*\" in\n  info*) echo 'cuda  1 GPU' ;;\n  *) echo \"again $*\" ;;\nesac");
  const Ended ended = gpu("verify");
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_NE(ended.out.find(line("verify-tp4", "ok")), std::string::npos) << ended.out;
  const std::string said = slurp(folder / "logs/verify.txt");
  EXPECT_NE(said.find("again verify --model gpt2 --heads-policy uneven --tp 4"), std::string::npos) << said;
  EXPECT_EQ(said.find("again verify --model gpt2 --heads-policy uneven --tp 2"), std::string::npos) << said;
  EXPECT_EQ(gpu("verify --again").code, 0);
  EXPECT_NE(slurp(folder / "logs/verify.txt").find("again verify --model gpt2 --heads-policy uneven --tp 2"),
            std::string::npos);
}

// Whoever is cut off has what was found until then, and sees what is missing.
TEST_F(GpuParts, TheTableIsCompleteAfterEveryTask) {
  put("shardlens-cli", "case \"$*\" in\n  info*) echo 'cuda  1 GPU' ;;\n  *generate*) cat " +
                           (folder / "logs/table.txt").string() + " ;;\nesac");
  EXPECT_EQ(gpu("bench").code, 0);
  const std::string said = slurp(folder / "logs/bench.txt");
  EXPECT_NE(said.find(line("bench-step-1.2b", "ok")), std::string::npos) << said;
  EXPECT_NE(said.find(line("bench-record", "not yet")), std::string::npos) << said;
}

// Each test waits for the three others: one after the other they would all run out of time.
TEST_F(GpuParts, TestsRunBesideOneAnother) {
  const std::string met = (folder / "met").string();
  put("tests/engine_tests",
      "case \"$*\" in\n"
      "  --gtest_list*) printf 'GpuParity.\\n  A\\n  B\\n  C\\n  D\\n' ;;\n"
      "  *AContext*) ;;\n"
      "  *) touch " +
          met +
          "-$$\n"
          "    for i in 1 2 3 4 5 6 7 8 9 10; do [ $(ls -d " +
          met +
          "-* | wc -l) -ge 4 ] && exit 0; sleep 1; done\n"
          "    exit 1 ;;\nesac");
  const Ended ended = gpu("tests");
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
}

TEST_F(GpuParts, ALateRankThatIsNotNamedIsAFailure) {
  put("shardlens-cli",
      "case \"$*\" in\n  info*) echo 'cuda  1 GPU, NCCL 2.30.4' ;;\n"
      "  *nccl*) echo 'rank 1 is lost: did not reach step 7 mlp.fc'; exit 3 ;;\n  *) exit 3 ;;\nesac");
  const Ended ended = gpu("faults");
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_NE(ended.out.find(line("faults-late-nccl", "ok")), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find(line("faults-late-local_cuda", "FAILED")), std::string::npos) << ended.out;
}

TEST_F(GpuParts, ResultsAreAtMostEightFiles) {
  put("tests/engine_tests",
      "case \"$*\" in\n  --gtest_list*) printf 'GpuParity.\\n  A\\n' ;;\n  *) echo A ;;\nesac");
  gpu("");
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder / "logs")) {
    ++files;
    EXPECT_TRUE(entry.is_regular_file()) << entry.path();
  }
  EXPECT_GE(files, 5u);
  EXPECT_LE(files, 8u);
}

// The script that fetches NVIDIA's libraries, with a python3 that a test wrote: it never reaches a network.
class GpuLibraries : public Bundle {
 protected:
  void SetUp() override {
    fs::create_directory(tools_);
    for (const char* tool :
         {"sh", "dirname", "df", "awk", "find", "head", "mv", "rm", "stat", "mkdir", "touch"})
      fs::create_symlink(fs::path("/usr/bin") / tool, tools_ / tool);
  }
  void TearDown() override {
    fs::remove_all(tools_);
    for (const char* file :
         {"libcublasLt.so.13", "libnvrtc.so.13", "libnvrtc-builtins.so.13.2", "libnccl.so.2"})
      fs::remove(folder_ / "lib" / file);
  }

  // What `python3 -m pip install --target FOLDER …` does; FOLDER is the word behind --target.
  void python(const std::string& installs) const {
    std::ofstream file(tools_ / "python3");
    file << "#!/bin/sh\n[ \"$3\" = install ] || exit 0\nwhile [ \"$1\" != --target ]; do shift; done\n"
         << "to=$2; shift 2; asked=\"$*\"\n"
         << installs << "\n";
    file.close();
    fs::permissions(tools_ / "python3", fs::perms::owner_all);
  }
  Ended fetch(const std::string& arguments = {}) const {
    return run_program("env -i PATH=" + tools_.string() + " " + (folder_ / "gpu-libraries.sh").string(),
                       arguments);
  }
  // What is in the bundle's folder, but for what was installed.
  static bool is_clean() {
    for (const auto& entry : fs::directory_iterator(folder_))
      if (entry.path().filename().string().front() == '.') return false;
    return true;
  }

  const fs::path tools_ = fs::path(::testing::TempDir()) / ("bundle_tools_" + std::to_string(getpid()));
  static constexpr const char* kBoth =
      "mkdir -p $to/nvidia/cu13/lib $to/nvidia/nccl/lib\n"
      "touch $to/nvidia/cu13/lib/libcublasLt.so.13 $to/nvidia/nccl/lib/libnccl.so.2\n"
      "touch $to/nvidia/cu13/lib/libnvrtc.so.13 $to/nvidia/cu13/lib/libnvrtc-builtins.so.13.2";
};

TEST_F(GpuLibraries, AreMovedIntoTheBundleOnce) {
  python(kBoth);
  const Ended ended = fetch();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(fs::exists(folder_ / "lib/libcublasLt.so.13"));
  EXPECT_TRUE(fs::exists(folder_ / "lib/libnccl.so.2"));
  EXPECT_TRUE(fs::exists(folder_ / "lib/libnvrtc.so.13"));
  EXPECT_TRUE(fs::exists(folder_ / "lib/libnvrtc-builtins.so.13.2"));
  EXPECT_TRUE(is_clean());
  python("exit 1");
  const Ended again = fetch();
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.out.find("libnccl.so.2 is there"), std::string::npos) << again.out;
}

TEST_F(GpuLibraries, OnlyWhatWasAskedFor) {
  const std::string nvrtc = "nvidia-cuda-nvrtc>=13,<14";
  python("[ \"$asked\" = 'nvidia-cublas>=13,<14,!=13.6.* " + nvrtc + "' ] || exit 1\n" + kBoth);
  EXPECT_EQ(fetch("cublas").code, 0);
  EXPECT_TRUE(fs::exists(folder_ / "lib/libcublasLt.so.13"));
  EXPECT_FALSE(fs::exists(folder_ / "lib/libnccl.so.2"));
  fs::remove(folder_ / "lib/libnvrtc.so.13");
  python("[ \"$asked\" = '" + nvrtc + "' ] || exit 1\n" + kBoth);
  EXPECT_EQ(fetch("cublas").code, 0) << "a bundle that has cuBLASLt alone gets what it lacks";
  EXPECT_TRUE(fs::exists(folder_ / "lib/libnvrtc.so.13"));
  const Ended wrong = fetch("cudnn");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("\"cudnn\" cannot be fetched: choose cublas or nccl"), std::string::npos)
      << wrong.err;
}

TEST_F(GpuLibraries, WhatFailsSaysWhatWouldWorkAndLeavesNothing) {
  const auto refusal = [&](const std::string& text) {
    const Ended ended = fetch();
    EXPECT_EQ(ended.code, 1);
    EXPECT_NE(ended.err.find(text), std::string::npos) << ended.err;
    EXPECT_NE(ended.err.find("SHARDLENS_CUDA_LIBRARIES"), std::string::npos) << ended.err;
    EXPECT_TRUE(is_clean());
    EXPECT_FALSE(fs::exists(folder_ / "lib/libnccl.so.2"));
  };
  refusal("there is no python3");
  python("mkdir -p $to/nvidia\nexit 1");
  refusal("pip could not fetch nvidia-cublas>=13,<14,!=13.6.* nvidia-cuda-nvrtc>=13,<14 nvidia-nccl-cu13");
  python("mkdir -p $to/nvidia");
  refusal("pip fetched a package without libcublasLt.so.13");
}

}  // namespace bundle_test
}  // namespace shardlens
