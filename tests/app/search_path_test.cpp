// Nothing that lies in the current folder or in a folder of everybody is run or believed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

#include "engine/record/gallery.h"
#include "tests/app/search_paths.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace search_path_test {

namespace fs = std::filesystem;

const fs::path kBuild = fs::path(SHARDLENS_CLI_PROGRAM).parent_path();

TEST(SearchPath, OfEveryProgramAndPluginIsNotTheCurrentFolder) {
  size_t looked_at = 0;
  for (const fs::path& folder : {kBuild, fs::path(SHARDLENS_BUILD) / "lib",
                                 fs::path(SHARDLENS_BUILD) / "tests", fs::path(SHARDLENS_BUILD) / "played"}) {
    for (const fs::path& file : code_in(folder)) {
      expect_no_relative_search_path(file);
      ++looked_at;
    }
  }
  EXPECT_GE(looked_at, 3u);
}

class Planted : public TestFolder {
 protected:
  /// Puts a library that tells when it is loaded under every name that a program or plug-in asks for.
  void plant() const {
    std::set<std::string> names{"libcublasLt.so.13", "libnccl.so.2", "libcuda.so.1", "libnvidia-ml.so.1"};
    for (const fs::path& file : code_in(kBuild)) {
      names.insert(file.filename().string());
      for (const std::string& name : dynamic_entries(file, "NEEDED")) names.insert(name);
    }
    EXPECT_GT(names.size(), 20u);
    for (const std::string& name : names) fs::copy_file(SHARDLENS_PLANTED, folder_ / name);
  }
  /// Runs a program in the folder with the planted libraries.
  Ended run_here(const std::string& program, const std::string& arguments) const {
    // With sanitizers: the libraries of MPI keep allocations until the process ends.
    return run_program(
        "cd " + folder_.string() + " && env -u DISPLAY -u HOME ASAN_OPTIONS=detect_leaks=0 " + program,
        arguments);
  }
};

TEST_F(Planted, CodeInTheCurrentFolderDoesNotRun) {
  plant();
  const std::string cli = SHARDLENS_CLI_PROGRAM, studio = SHARDLENS_PROGRAM;
  for (const auto& [program, arguments] : std::vector<std::pair<std::string, std::string>>{
           {cli, "--version"},
           {cli, "info --backends"},
           {"PATH=bin::.:$PATH VIRTUAL_ENV=. CUDA_HOME=. " + cli, "info --backends"},
           {cli, "step --layer --comm mpi --tp 1 --model gpt2-tiny --batch 1 --seq 8"},
           {studio, "--version"},
           {studio, "--screenshot picture.png --size 640x360" + std::string(kTinyModel)}}) {
    const Ended ended = run_here(program, arguments);
    EXPECT_EQ(ended.code, 0) << program << arguments << ended.err;
    EXPECT_FALSE(contains(ended.err, "planted code runs")) << program << arguments << ended.err;
  }
}

// Without a home, what is unpacked once has its place in the folder for temporary files, where anybody
// writes.
TEST_F(Planted, AGalleryThatSomebodyElseMadeIsNotBelieved) {
  const fs::path inside =
      fs::path(gallery_file("late-rank", path("unpacked"))).lexically_relative(path("unpacked"));
  const std::string mine = "shardlens-cache-" + std::to_string(geteuid());
  for (const std::string& place : {std::string("shardlens"), mine}) {
    fs::create_directories((folder_ / place / "gallery" / inside).parent_path());
    write(place + "/gallery/" + inside.string(), "planted");
  }
  fs::permissions(path(mine), fs::perms::all);
  const std::string program =
      "env -u HOME -u XDG_CACHE_HOME TMPDIR=" + folder_.string() + " " + SHARDLENS_CLI_PROGRAM;
  const Ended refused = run_program(program, "info gallery:late-rank");
  EXPECT_EQ(refused.code, 2) << refused.err;
  EXPECT_TRUE(contains(refused.err, path(mine) + " is not used")) << refused.err;
  fs::remove_all(path(mine));
  const Ended ended = run_program(program, "info gallery:late-rank");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(contains(ended.out, "gallery:late-rank: `step`")) << ended.out;
}

// A script removes only what it made itself.
TEST_F(Planted, AFolderThatTheBundlesScriptDidNotMakeStays) {
  fs::create_directory(path("thesis"));
  write("thesis/thesis.tex", "mine");
  write("talk.zip", "mine");
  for (const std::string name : {"thesis", "talk"}) {
    const Ended ended = run_program("sh " SHARDLENS_SOURCES "/app/bundle.sh", path(name));
    EXPECT_EQ(ended.code, 1) << ended.out;
    EXPECT_TRUE(contains(ended.err, "app/bundle.sh did not make it")) << ended.err;
  }
  EXPECT_EQ(contents("thesis/thesis.tex"), "mine");
  EXPECT_EQ(contents("talk.zip"), "mine");
}

}  // namespace search_path_test
}  // namespace shardlens
