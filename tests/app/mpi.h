// Runs the program as processes of mpirun, if mpirun is installed.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/app/process.h"

namespace shardlens {

namespace fs = std::filesystem;

inline const std::string kProgram = SHARDLENS_CLI_PROGRAM;
// Leaks that a sanitizer would report are Open MPI's.
inline const std::string kEnvironment =
    "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=detect_leaks=0 ";

// Why these tests cannot run here; empty when they can.
inline std::string why_not() {
  if (run_program("mpirun", "--version").code != 0) return "skipped: no mpirun on this machine";
  if (!fs::exists(fs::path(kProgram).parent_path() / "libshardlens_mpi.so"))
    return "skipped: this build found no MPI";
  return {};
}

class Mpi : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string why = why_not();
    if (!why.empty()) GTEST_SKIP() << why;
    folder_ = fs::path(::testing::TempDir()) / ("mpi_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  std::string in_folder(const std::string& name) const { return (folder_ / name).string(); }

  // `count` processes with these arguments, or with those of each part of an MPMD command. The limit only
  // turns a hang into a failure; a sanitizer's build on a busy machine is slow.
  static Ended in_processes(int count, const std::string& arguments) {
    return run_program(
        kEnvironment + "timeout 500 mpirun --oversubscribe -n " + std::to_string(count) + " " + kProgram,
        arguments + " --comm mpi");
  }

  fs::path folder_;
};

}  // namespace shardlens
