// Both programs in an untidy world: names that are not UTF-8, readers that go away, terminals, files that may
// not be read, disks that are full.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/app/process.h"
#include "tests/engine/full_disk.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/io/write_npy.h"

namespace shardlens {
namespace untidy_test {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::FullDisk;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kSmall = " --model gpt2-tiny --batch 2 --seq 16 --threads 1 --tp 1 ";

class Untidy : public TestFolderWithCache {
 protected:
  // Runs a program whose stdout goes into a pipe that nobody reads any more.
  Ended unread(const std::string& program, const std::string& arguments, bool stderr_too = false) {
    const std::string code = path("code"), err = stderr_too ? "&1" : path("err");
    Ended ended =
        run_program("(sleep 0.2; " + program, arguments + " 2>" + err + "; echo $? >" + code + ") | true");
    ended.code = std::atoi(slurp(code).c_str());
    ended.err = slurp(path("err"));
    return ended;
  }

  // Returns what a person at a terminal sees.
  std::string on_terminal(const std::string& arguments) {
    int terminal = -1;
    const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
    if (child == 0) {
      const std::string command = std::string("exec ") + SHARDLENS_CLI_PROGRAM + " " + arguments;
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    std::string seen;
    std::array<char, 4096> part;
    for (ssize_t got; (got = read(terminal, part.data(), part.size())) > 0;)
      seen.append(part.data(), static_cast<size_t>(got));
    waitpid(child, nullptr, 0);
    close(terminal);
    return seen;
  }

  std::string text(const std::string& name) const { return write(name, std::string(4000, 'x')); }
};

// What is built in is meant, whatever lies in the folder; and a file that its name hides is named.
TEST_F(Untidy, AFileWithTheNameOfSomethingBuiltInIsSaid) {
  fs::create_directories(path("here/gpt2-tiny"));
  for (const char* name : {"gpt2-tiny/config.json", "megatron", "v100-32gb", "sample", "bytes"})
    std::ofstream(path(std::string("here/") + name)) << "another";
  const std::string cli = "cd " + path("here") + " && " + SHARDLENS_CLI_PROGRAM;
  const std::string train =
      "train --data sample --tokenizer bytes --hardware v100-32gb --steps 1" + std::string(kSmall);
  const Ended alike = run_cli(train), hidden = run_program(cli, train);
  ASSERT_EQ(hidden.code, 0) << hidden.err;
  for (const char* name : {"gpt2-tiny", "megatron", "v100-32gb", "sample", "bytes"}) {
    EXPECT_THAT(hidden.err, HasSubstr(std::string("of this name write ./") + name));
    EXPECT_THAT(alike.err, Not(HasSubstr(std::string("./") + name)));
  }
}

// The bytes open the file, and JSON gets U+FFFD for them.
TEST_F(Untidy, NamesThatAreNotUtf8AreUsed) {
  const std::string odd = "caf\xe9", shown = "caf\xEF\xBF\xBD";
  const std::string book = text(odd + ".txt"), run = path(odd);
  const Ended train =
      run_cli(std::string("train --steps 2 --json") + kSmall + "--data " + book + " --checkpoint " + run);
  ASSERT_EQ(train.code, 0) << train.err;
  EXPECT_TRUE(json::parse(train.out)["checkpoint"].get<std::string>().ends_with(shown)) << train.out;
  const Ended resumed = run_cli("train --steps 3 --json --resume " + run);
  ASSERT_EQ(resumed.code, 0) << resumed.err << "the checkpoint names the text by its bytes";
  const Ended data =
      run_cli("data --json --validation 0 --test 0 --text " + book + " --out " + path(odd + "-corpus"));
  ASSERT_EQ(data.code, 0) << data.err;
  EXPECT_TRUE(json::accept(data.out)) << data.out;
  const std::string recording = path(odd + ".shardlens");
  const std::string dump = path(odd + ".safetensors");
  const Ended step =
      run_cli(std::string("step --layer --json") + kSmall + "--record " + recording + " --dump " + dump);
  ASSERT_EQ(step.code, 0) << step.err;
  EXPECT_TRUE(json::accept(step.out)) << step.out;
  for (const std::string& arguments :
       {"info --json " + recording, "diff --json " + recording + " " + recording,
        "eval --json --batch 1 --seq 16 --model " + run + " --text " + book,
        "generate --json --tokens 2 --prompt x --model " + run, "plan --json --model " + run,
        "export " + recording + " " + path(odd + ".json")}) {
    const Ended ended = run_cli(arguments);
    EXPECT_EQ(ended.code, 0) << arguments << ended.err;
    EXPECT_TRUE(ended.out.empty() || json::accept(ended.out) || arguments.starts_with("export")) << ended.out;
  }
}

// A recording keeps a failure's words, and they can name a file.
TEST_F(Untidy, ARunWhoseModelIsNotCalledInUtf8IsRecorded) {
  const std::string model = path("mod\xe8le");
  ASSERT_EQ(run_cli(std::string("train --steps 1") + kSmall + "--data " + text("book.txt") +
                    " --checkpoint " + model)
                .code,
            0);
  const std::string recording = path("run.shardlens");
  const Ended step = run_cli("step --batch 1 --seq 8 --json --model " + model + " --record " + recording);
  ASSERT_EQ(step.code, 0) << step.err;
  EXPECT_EQ(run_cli("info --json " + recording).code, 0);
}

TEST_F(Untidy, ATrainingWhoseReaderHasGoneGoesOnAndSaves) {
  const std::string train = std::string("train --steps 200") + kSmall + "--data " + text("book.txt");
  const Ended ended = unread(SHARDLENS_CLI_PROGRAM, train + " --checkpoint " + path("run"));
  EXPECT_EQ(ended.code, 3);
  EXPECT_TRUE(contains(ended.err, "cannot write to standard output: Broken pipe")) << ended.err;
  EXPECT_TRUE(fs::exists(path("run/training.json")));
  // Nobody hears anything at all, and the run still goes on.
  EXPECT_EQ(unread(SHARDLENS_CLI_PROGRAM, train + " --json --checkpoint " + path("both"), true).code, 3);
  EXPECT_TRUE(fs::exists(path("both/training.json")));
}

TEST_F(Untidy, ATrainingIntoAFullStreamGoesOnAndSaves) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
  const std::string train = std::string("train --steps 3 --json") + kSmall + "--data " + text("book.txt");
  const Ended ended = run_cli(train + " --checkpoint " + path("run") + " >/dev/full");
  EXPECT_EQ(ended.code, 3);
  EXPECT_TRUE(fs::exists(path("run/training.json")));
  const Ended quiet =
      run_program("(" SHARDLENS_CLI_PROGRAM, train + " --checkpoint " + path("quiet") + " 2>/dev/full)");
  EXPECT_EQ(quiet.code, 0) << "stderr is for people";
  EXPECT_TRUE(json::accept(quiet.out)) << quiet.out;
  EXPECT_TRUE(fs::exists(path("quiet/training.json")));
}

TEST_F(Untidy, WhatIsWrittenIsWrittenWhoeverReads) {
  const std::string dump = path("layer.safetensors"), recording = path("run.shardlens");
  EXPECT_EQ(unread(SHARDLENS_CLI_PROGRAM,
                   std::string("step --layer") + kSmall + "--dump " + dump + " --record " + recording)
                .code,
            3);
  EXPECT_TRUE(fs::exists(dump));
  EXPECT_EQ(run_cli("info --json " + recording).code, 0);
  EXPECT_EQ(unread(SHARDLENS_CLI_PROGRAM,
                   "data --validation 0 --test 0 --text " + text("book.txt") + " --out " + path("corpus"))
                .code,
            3);
  EXPECT_TRUE(fs::exists(path("corpus/corpus.json")));
  for (const char* arguments :
       {"--help", "plan --model gpt2", "info --backends", "generate --model gpt2-tiny --tokens 9 --prompt x"})
    EXPECT_EQ(unread(SHARDLENS_CLI_PROGRAM, arguments).code, 3) << arguments;
  EXPECT_EQ(unread(std::string("env -u DISPLAY ") + SHARDLENS_PROGRAM, "--help").code, 3);
}

TEST_F(Untidy, CodesInNamesDoNotReachTheTerminal) {
  const std::string red = "\x1b[31m";
  fs::create_directory(path("model"));
  write("model/config.json", R"({"model_type":"\u001b[31mred\u0007"})");
  for (const std::string& arguments :
       {"plan --model '" + red + "'", "info '" + path(red) + "'", "plan --model " + path("model"),
        "data --text '" + path(red) + "' --out " + path("corpus")}) {
    const Ended ended = run_cli(arguments);
    EXPECT_EQ(ended.code, 2) << arguments;
    EXPECT_TRUE(contains(ended.err, "\\x1b[31m")) << ended.err;
    EXPECT_FALSE(contains(ended.err, "\x1b")) << ended.err;
  }
  EXPECT_TRUE(contains(run_cli("info 'caf\xe9'").err, "caf\\xe9: there is no such file"));
}

TEST_F(Untidy, AGiantNameIsShortened) {
  fs::create_directory(path("model"));
  write("model/config.json", R"({"model_type":")" + std::string(100'000, 'x') + R"("})");
  for (const std::string& arguments :
       {"plan --model " + path("model"), "plan --model " + std::string(100'000, 'x'),
        "plan --tp " + std::string(100'000, 'x'), std::string(100'000, 'x')}) {
    const Ended ended = run_cli(arguments);
    EXPECT_EQ(ended.code, 2) << arguments.substr(0, 100);
    EXPECT_TRUE(contains(ended.err, "…") && contains(ended.err, "xxxx")) << ended.err.substr(0, 1000);
    EXPECT_LT(ended.err.size(), 3000u);
  }
}

// A file gets the text as it is. A terminal would obey it.
TEST_F(Untidy, WhatAModelWritesIsEscapedOnATerminalOnly) {
  const std::string generate = "generate --model gpt2-tiny --tokens 1 --greedy --prompt 'a\x1b[31mb\xe9 é'";
  EXPECT_TRUE(contains(run_cli(generate).out, "a\x1b[31mb\xe9 é"));
  const std::string seen = on_terminal(generate);
  EXPECT_TRUE(contains(seen, "a\\x1b[31mb\\xe9 é")) << seen;
  EXPECT_FALSE(contains(seen, "\x1b[31m")) << seen;
}

TEST_F(Untidy, ATerminalStillHasItsLiveLine) {
  const std::string seen =
      on_terminal(std::string("train --steps 3") + kSmall + "--data " + text("book.txt"));
  EXPECT_TRUE(contains(seen, "\r\x1b[Kstep 3/3")) << seen;
  EXPECT_TRUE(contains(seen, "GPT-2 toy · ")) << seen;
}

// As in the HOME of another user, but for root too.
TEST_F(Untidy, ACalibrationThatMayNotBeReadIsNone) {
  fs::create_directory(path("home"));
  fs::create_directory_symlink(".local", path("home/.local"));  // a loop
  const std::string program = "env -u XDG_DATA_HOME HOME=" + path("home") + " " + SHARDLENS_CLI_PROGRAM;
  const Ended plan = run_program(program, "plan --model gpt2-tiny --layer --hardware this-machine");
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_TRUE(contains(plan.out, "cannot be read")) << plan.out;
  for (const char* arguments : {"info --backends", "verify --layer --model gpt2-tiny --batch 1 --seq 8"}) {
    const Ended ended = run_program(program, arguments);
    EXPECT_EQ(ended.code, 0) << arguments << ended.err;
  }
  const Ended studio =
      run_program("env -u DISPLAY -u XDG_DATA_HOME HOME=" + path("home") + " " + SHARDLENS_PROGRAM,
                  "--screenshot " + path("a.png") + " --size 640x360" + kTinyModel);
  EXPECT_EQ(studio.code, 0) << studio.err;
}

TEST_F(Untidy, ARecordingOfNothingIsAFailure) {
  const FullDisk full(300'000);
  for (const char* verb : {"step --layer", "verify --layer", "bench step --layer --repetitions 2"}) {
    const std::string recording = path("run.shardlens");
    const Ended ended = run_cli(
        std::string(verb) +
        " --model gpt2-tiny --batch 8 --seq 128 --tp 4 --threads 1 --record-pictures all --json --record " +
        recording);
    // On a busy machine a pass may come without its pictures: then it fits, and the others are said to miss.
    const bool has_a_pass = contains(ended.err, "recorded 1 pass ");
    EXPECT_EQ(ended.code, has_a_pass ? 0 : 3) << verb << ended.out << ended.err;
    EXPECT_TRUE(
        contains(ended.err, has_a_pass ? "not in it: " + recording : "nothing of the run is in " + recording))
        << verb << ended.err;
    EXPECT_TRUE(json::accept(ended.out)) << verb << " printed what it found" << ended.out;
    fs::remove(recording);
  }
}

TEST_F(Untidy, LabelsThatAreAllIgnoredAreSaidBeforeTheRun) {
  const std::vector<int32_t> ids(16, 5), ignored(16, -100), order(2, 1);
  write_npy(path("ids.npy"), NpyType::Int32, {2, 8}, ids.data());
  write_npy(path("labels.npy"), NpyType::Int32, {2, 8}, ignored.data());
  write_npy(path("order.npy"), NpyType::Int32, {2}, order.data());
  const std::string step = "step --model bert-tiny --tp 2 --threads 1 --tokens " + path("ids.npy");
  for (const std::string& more : {std::string(), " --labels " + path("labels.npy")}) {
    const Ended ended = run_cli(step + more);
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_TRUE(contains(ended.err, "no label counts in the loss")) << ended.err;
  }
  const Ended words = run_cli(step + " --labels " + path("labels.npy") + " --sop " + path("order.npy"));
  EXPECT_TRUE(contains(words.err, "every label in " + path("labels.npy") + " is -100")) << words.err;
  EXPECT_EQ(run_cli(step + " --sop " + path("order.npy")).err, "");
}

// On a disk of its own, where the system allows to make one.
TEST_F(Untidy, ACheckpointThatDoesNotFitIsRefusedBeforeTheFirstStep) {
  fs::create_directory(path("disk"));
  const auto on_disk = [&](const std::string& size, const std::string& arguments) {
    return run_program("unshare -rm sh -c 'mount -t tmpfs -o size=" + size + " none " + path("disk") +
                           " && " + SHARDLENS_CLI_PROGRAM,
                       arguments + "'");
  };
  if (on_disk("1m", "--version").code != 0) GTEST_SKIP() << "no file system can be made here";
  const std::string train = std::string("train --steps 2") + kSmall + "--data " + text("book.txt") +
                            " --checkpoint " + path("disk/run");
  const Ended one = on_disk("9m", train);  // 859,008 parameters of fp32, three of each
  EXPECT_EQ(one.code, 2) << one.err;
  EXPECT_TRUE(contains(one.err, "would take 9.83 MiB, but its disk has only ")) << one.err;
  EXPECT_FALSE(contains(one.out, "step 1/2")) << one.out;
  EXPECT_EQ(on_disk("12m", train).code, 0);
  const Ended two = on_disk("12m", train + " --checkpoint-every 1");
  EXPECT_EQ(two.code, 2) << two.err;
  EXPECT_TRUE(contains(two.err, "two checkpoints")) << two.err;
  EXPECT_EQ(on_disk("22m", train + " --checkpoint-every 1").code, 0);
}

}  // namespace untidy_test
}  // namespace shardlens
