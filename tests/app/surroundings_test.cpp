// shardlens-cli in unusual surroundings: pipes in place of files, folders that do not exist or cannot be
// written, and environment variables with odd values.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/app/process.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace surroundings_test {

using CliSurroundingFiles = TestFolder;

// What waits for somebody to write into a pipe looks as if it hung.
TEST_F(CliSurroundingFiles, APipeInPlaceOfAFileIsRefusedAtOnce) {
  const std::string pipe = path("pipe.json");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& arguments : std::vector<std::string>{
           "eval --model gpt2-tiny --cloze ", "eval --model gpt2-tiny --text ",
           "plan --model gpt2-tiny --split ", "plan --hardware ", "step --layer --model gpt2-tiny --input ",
           "train --steps 1 --data ", "train --steps 1 --data sample --log ",
           "generate --model gpt2-tiny --tokenizer ",
           "data --tokenizer wordpiece:512 --out " + path("corpus") + " --text ", "info "}) {
    const Ended ended = run_program("timeout 20 " SHARDLENS_CLI_PROGRAM, arguments + pipe + " </dev/null");
    EXPECT_EQ(ended.code, 2) << arguments << ended.err;
    EXPECT_TRUE(contains(ended.err, pipe)) << arguments << ended.err;
  }
}

TEST_F(CliSurroundingFiles, APipeUnderAnyNameIsRefusedAtOnce) {
  const std::string tokens = path("pipe.tokens"), array = path("pipe.npy");
  ASSERT_EQ(mkfifo(tokens.c_str(), 0600), 0);
  ASSERT_EQ(mkfifo(array.c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", path("zero.txt"));
  for (const std::string& arguments : std::vector<std::string>{
           "train --steps 1 --data " + tokens, "step --model gpt2-tiny --tokens " + array,
           "step --layer --model gpt2-tiny --input " + array,
           "data --out " + path("corpus") + " --text " + path("zero.txt"),
           "train --steps 1 --data " + path("zero.txt"),
           "eval --model gpt2-tiny --text " + path("zero.txt")}) {
    const Ended ended = run_program("timeout 20 " SHARDLENS_CLI_PROGRAM, arguments + " </dev/null");
    EXPECT_EQ(ended.code, 2) << arguments << ended.err;
    EXPECT_TRUE(contains(ended.err, path(""))) << arguments << ended.err;
  }
}

// A page of memory that is not there stands for a disk that fails: the system answers EIO to any user.
TEST_F(CliSurroundingFiles, AReadErrorIsNotTheEndOfAText) {
  std::filesystem::create_directory(path("books"));
  write("books/a.txt", std::string(4000, 'x') + "\n");
  std::filesystem::create_symlink("/proc/self/mem", path("books/b.txt"));
  const std::string disk = path("books/b.txt");
  for (const std::string& arguments : std::vector<std::string>{
           "data --min-tokens 1 --validation 0 --test 0 --out " + path("corpus") + " --text " + path("books"),
           "train --steps 1 --data " + path("books"), "train --steps 1 --data " + disk,
           "eval --model gpt2-tiny --text " + disk, "eval --model gpt2-tiny --cloze " + disk,
           "eval --model bert-tiny --text " + disk, "plan --model gpt2-tiny --split " + disk}) {
    const Ended ended = run_cli(arguments);
    EXPECT_EQ(ended.code, 3) << arguments << ended.err;
    EXPECT_TRUE(contains(ended.err, "cannot read " + disk + " at byte 0: Input/output error"))
        << arguments << ended.err;
  }
  EXPECT_FALSE(std::filesystem::exists(path("corpus")));
}

// A check in one reader is a check in all.
TEST_F(CliSurroundingFiles, WhatIsNoTextIsRefusedByEveryVerb) {
  const std::string zero = write("zero.txt", std::string("ab\0", 3) + std::string(4000, 'x'));
  const std::string wide = write("wide.txt", "\xff\xfe" + std::string(4000, 'x'));
  for (const std::string& file : {zero, wide}) {
    for (const std::string verb : {"eval --model gpt2-tiny --text ", "eval --model bert-tiny --text ",
                                   "eval --model gpt2-tiny --cloze ", "train --steps 1 --data ",
                                   "step --layer --model gpt2-tiny --batch 1 --seq 8 --input ",
                                   "data --min-tokens 1 --out corpus-that-is-not-made --text "}) {
      const Ended ended = run_cli(verb + file);
      EXPECT_EQ(ended.code, 2) << verb << ended.err;
      EXPECT_TRUE(contains(ended.err, file) && contains(ended.err, "iconv")) << verb << ended.err;
    }
  }
  const Ended lines = run_cli("eval --model gpt2-tiny --text " + write("x.txt", "{\"text\": \"a b\"}\n"));
  EXPECT_EQ(lines.code, 2);
  EXPECT_TRUE(contains(lines.err, "x.txt holds JSON")) << lines.err;
}

// As of a program that was started without a standard stream: its number is free then, and a file that is
// opened, the log here, takes it if nothing else does.
TEST_F(CliSurroundingFiles, WhatIsPrintedGoesIntoNoFile) {
  const std::string text = write("book.txt", std::string(4000, 'x'));
  const Ended ended = run_cli("train --data " + text + " --steps 2 --seq 8 --batch 1 --threads 1 --log " +
                              path("log.csv") + " >&-");
  EXPECT_EQ(ended.code, 3);
  EXPECT_TRUE(contains(ended.err, "standard output")) << ended.err;
  const std::string log = contents("log.csv");
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 3) << log;
  EXPECT_FALSE(contains(log, "GPT-2")) << log;
}

TEST_F(CliSurroundingFiles, AFolderForTemporaryFilesThatIsNotThereIsNamed) {
  const std::string nowhere = path("nowhere"), text = write("book.txt", std::string(4000, 'x'));
  for (const std::string& arguments : {"train --steps 1 --data " + text + kTinyModel,
                                       "bench record --layer --repetitions 1" + std::string(kTinyModel)}) {
    const Ended ended = run_program("env TMPDIR=" + nowhere + " " + SHARDLENS_CLI_PROGRAM, arguments);
    EXPECT_EQ(ended.code, 2) << arguments << ended.err;
    EXPECT_TRUE(contains(ended.err, nowhere + ": set TMPDIR")) << ended.err;
  }
}

// Told before it measures for minutes.
TEST_F(CliSurroundingFiles, ACalibrationThatCannotBeStoredIsRefusedAtOnce) {
  const Ended ended =
      run_program("timeout 20 env -u XDG_DATA_HOME HOME=" + write("home", "") + " " + SHARDLENS_CLI_PROGRAM,
                  "bench calibrate");
  EXPECT_EQ(ended.code, 2) << ended.err;
  EXPECT_TRUE(contains(ended.err, path("home"))) << ended.err;
}

TEST(CliSurroundings, ABlisToldOfAnotherProcessorIsNotHeeded) {
  for (const char* type : {"9999", "nonsense", "0", "-1"}) {
    const Ended ended =
        run_program(std::string("env BLIS_ARCH_TYPE=") + type + " " + SHARDLENS_CLI_PROGRAM,
                    std::string("step --tp 2 ") + "--model gpt2-tiny --layer --batch 2 --seq 16 --threads 1");
    EXPECT_EQ(ended.code, 0) << type << ended.err;
  }
}

}  // namespace surroundings_test
}  // namespace shardlens
