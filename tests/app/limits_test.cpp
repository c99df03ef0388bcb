// Limits of the system on one program (ulimit): a write that is refused is said and leaves nothing half
// written, and what can go on goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/app/process.h"
#include "tests/engine/few_files.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace limits_test {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* kSmallStep = " --model gpt2-tiny --batch 1 --seq 8 ";

class Limits : public TestFolderWithCache {
 protected:
  void SetUp() override {
    TestFolderWithCache::SetUp();
    fs::create_directory(path("out"));
    fs::create_directory(path("tmp"));
    text_ = write("book.txt", book());
  }
  static std::string book() {
    std::string text;
    for (int word = 0; text.size() < 60'000; ++word)
      text += std::to_string(word * 7919) + (word % 9 ? " " : "\n");
    return text;
  }
  /// No file may become larger than `blocks` of 512 bytes, or 1,024 where sh is another shell.
  Ended with_blocks(int blocks, const std::string& program, const std::string& arguments) const {
    return run_program("cd " + path("out") + " && ulimit -f " + std::to_string(blocks) +
                           " && env -u DISPLAY TMPDIR=" + path("tmp") + " " + program,
                       arguments);
  }
  std::vector<std::string> left() const {
    std::vector<std::string> names;
    for (const std::string folder : {"out", "tmp"})
      for (const auto& entry : fs::directory_iterator(path(folder))) names.push_back(entry.path().filename());
    return names;
  }

  std::string text_;
};

TEST_F(Limits, AFileThatBecomesTooLargeIsSaidAndNothingIsLeft) {
  const std::string cli = SHARDLENS_CLI_PROGRAM, studio = SHARDLENS_PROGRAM;
  ASSERT_EQ(run_cli("step --record " + path("r") + kSmallStep).code, 0);
  const std::string tiny = kTinyModel;
  for (const auto& [program, arguments] : std::vector<std::pair<std::string, std::string>>{
           {cli, "step --dump d.safetensors" + std::string(kSmallStep)},
           {cli, "step --record r2" + std::string(kSmallStep)},
           {cli, "data --min-tokens 1 --out corpus --text " + text_},
           {cli, "train --steps 1 --data " + text_ + kSmallStep},
           {cli, "export " + path("r") + " trace.json"},
           {cli, "info gallery:training"},
           {studio, "--screenshot a.png --size 1280x720" + tiny},
           {studio, "--export a.pdf --view stage" + tiny},
           {studio, "--video a.mkv --fps 10 --from 1 --to 3 --size 640x360" + tiny}}) {
    const Ended ended = with_blocks(20, program, arguments);
    EXPECT_EQ(ended.code, 3) << arguments << ended.out << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("File too large")) << arguments;
    EXPECT_THAT(left(), ::testing::IsEmpty()) << arguments;
  }
}

TEST_F(Limits, ATrainingGoesOnWithoutWhatCannotBeWritten) {
  const Ended ended =
      with_blocks(1000, SHARDLENS_CLI_PROGRAM,
                  "train --steps 3 --checkpoint run --checkpoint-every 1 --record r --log l.csv --data " +
                      text_ + kSmallStep);
  EXPECT_EQ(ended.code, 3) << ended.out << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("step 3/3"));
  EXPECT_THAT(ended.out, HasSubstr("not saved: the checkpoint of step 1 could not be saved"));
  EXPECT_THAT(ended.err, HasSubstr("File too large"));
  EXPECT_FALSE(fs::exists(path("out/run")));
  const std::string log = contents("out/l.csv");
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 4) << log;
}

TEST_F(Limits, WhatIsPrintedIntoAFileThatBecomesTooLargeIsLostAndSaid) {
  const Ended ended = with_blocks(2, SHARDLENS_CLI_PROGRAM, std::string("plan --model gpt2 --tp 2 >out.txt"));
  EXPECT_EQ(ended.code, 3);
  EXPECT_THAT(ended.err, HasSubstr("cannot write to standard output: File too large"));
}

// At every number of open files from none: it works, or says the cause, and never that something is missing.
TEST_F(Limits, TooFewOpenFilesAreTheCauseThatIsSaid) {
  if (shardlens::testing::kSanitizerNeedsFiles) GTEST_SKIP() << shardlens::testing::kWhyFilesAreNeeded;
  ASSERT_EQ(run_cli("step --record " + path("r") + kSmallStep).code, 0);
  int refused = 0;
  for (const std::string& arguments :
       {"train --steps 1 --data sample" + std::string(kSmallStep), "info " + path("r"),
        "data --min-tokens 1 --out corpus --text " + text_, "step --record r3" + std::string(kSmallStep)}) {
    int done = 0;
    for (int files = 3; files < 24 && done < 2; ++files) {
      const Ended ended = run_program(
          "cd " + path("out") + " && exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- && TMPDIR=" + path("tmp") +
              " prlimit --nofile=" + std::to_string(files) + " " + SHARDLENS_CLI_PROGRAM,
          arguments);
      fs::remove_all(path("out/corpus"));
      fs::remove(path("out/r3"));
      if (ended.code == 0) {
        ++done;
        continue;
      }
      if (contains(ended.err, "error while loading shared libraries"))
        continue;  // the system, before the program
      ++refused;
      EXPECT_THAT(ended.err, HasSubstr("Too many open files")) << files << " " << arguments << ended.code;
    }
    EXPECT_EQ(done, 2) << arguments;
  }
  EXPECT_GE(refused, 3);
}

// It would end the process, after a page about itself.
TEST_F(Limits, TooFewOpenFilesForMpiAreSaidBeforeItBegins) {
  const Ended ended = run_program(std::string("prlimit --nofile=20 ") + SHARDLENS_CLI_PROGRAM,
                                  "step --comm mpi --layer --tp 1" + std::string(kSmallStep));
  EXPECT_EQ(ended.code, 2) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("--comm mpi needs 64 open files, but a program may have 20 here"));
}

}  // namespace limits_test
}  // namespace shardlens
