// Walks over the outputs of all verbs and of the studio: none replaces an input or a file of another kind,
// each has one writer, and --overwrite and --no-overwrite decide about files of the same kind.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/app/process.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace outputs_test {

namespace fs = std::filesystem;

constexpr const char* kLayer = "--model gpt2-tiny --layer --batch 2 --seq 16 --threads 1 --tp 2 ";
constexpr const char* kTrain =
    "train --model gpt2-tiny --batch 2 --seq 16 --threads 1 --tp 1 --data sample --steps 1 ";
constexpr const char* kThesis = "year,birds\n2024,17\n";

struct Output {
  std::string command;  ///< "{}" stands for the output, "RECORDING" for a recording
  std::string name;     ///< of the output
  std::string inside;   ///< of a file in it, if the output is a folder
  bool is_studio = false;
  bool is_kept = false;  ///< an existing one is kept unless --overwrite is given
  bool is_quick = true;  ///< it can be made in a test
  bool is_owned = true;  ///< its lock is PATH.lock
};

std::vector<Output> all_outputs() {
  const std::string layer = kLayer, train = kTrain, small = "--model gpt2-tiny --tp 2 --batch 1 --seq 8 ";
  std::vector<Output> outputs{
      {"export RECORDING {}", "t.csv", ""},
      {"export RECORDING {} --table metrics", "m.csv", ""},
      {"export RECORDING {}", "t.json", ""},
      {"step " + layer + "--dump {}", "d.safetensors", "", false, true},
      {"step " + small + "--dump {}", "w.safetensors", "", false, true},
      {"step " + layer + "--record {}", "s.shardlens", "", false, true, true, false},
      {"verify " + layer + "--record {}", "v.shardlens", "", false, true, true, false},
      {"bench step " + layer + "--repetitions 1 --record {}", "b.shardlens", "", false, true, true, false},
      {train + "--record {}", "r.shardlens", "", false, true, true, false},
      {train + "--log {}", "l.csv", "", false, true},
      {train + "--checkpoint {}", "run", "notes.txt", false, true},
      {"data --text sample --out {}", "corpus", "corpus.json"},
      {"bench calibrate --out {}", "h.json", "", false, false, false},
      {"bench scaling --budget 10 --out {}", "growth", "growth-model.csv", false, false, false},
      {small + "--screenshot {}", "p.png", "", true},
      {small + "--export {}", "f.svg", "", true},
      {small + "--export {}", "f.pdf", "", true},
      {"--lesson heads --handout {}", "h.html", "", true},
      {"--lesson heads --handout {}", "h.pdf", "", true},
      {"--lesson heads --slides {}", "slides", "01.png", true, false, false},
      {"--render-views {}", "views", "stage.png", true, false, false},
      {small + "--video {} --size 320x240 --fps 1 --speed 100", "v.gif", "", true, false, false}};
  return outputs;
}

class OutputsTest : public TestFolder {
 protected:
  void SetUp() override {
    TestFolder::SetUp();
    ASSERT_EQ(run_cli(std::string("step ") + kLayer + "--record " + path("own.shardlens")).code, 0);
  }

  Ended run(const Output& output, const std::string& place, const std::string& more = "") {
    std::string command = output.command;
    command.replace(command.find("{}"), 2, place);
    if (const size_t at = command.find("RECORDING"); at != std::string::npos)
      command.replace(at, 9, path("own.shardlens"));
    return output.is_studio ? draw_offscreen(command + more) : run_cli(command + more);
  }
};

// Somebody's table has the name of ours, and so has somebody's picture.
TEST_F(OutputsTest, AFileOfAnotherKindStays) {
  for (const Output& output : all_outputs()) {
    const std::string file = output.inside.empty() ? output.name : output.name + "/" + output.inside;
    fs::create_directories(fs::path(path(file)).parent_path());
    write(file, kThesis);
    for (const char* more : {"", " --overwrite"}) {
      const Ended ended = run(output, path(output.name), more);
      EXPECT_EQ(ended.code, 2) << output.command << more << "\n" << ended.err;
      EXPECT_TRUE(contains(ended.err, path(output.name))) << output.command << "\n" << ended.err;
      EXPECT_TRUE(contains(ended.err, "ive a new")) << output.command << more << "\n" << ended.err;
      EXPECT_EQ(contents(file), kThesis) << output.command;
    }
    fs::remove_all(path(output.name));
  }
}

TEST_F(OutputsTest, TheFolderAndTheLinkToAFileAreNoWayRound) {
  write("thesis.csv", kThesis);
  for (const Output& output : all_outputs()) {
    if (!output.inside.empty()) continue;
    fs::create_symlink("thesis.csv", path(output.name));
    const Ended linked = run(output, path(output.name), " --overwrite");
    EXPECT_EQ(linked.code, 2) << output.command << "\n" << linked.err;
    EXPECT_EQ(contents("thesis.csv"), kThesis) << output.command;
    fs::remove(path(output.name));
    fs::create_directory(path(output.name));
    EXPECT_EQ(run(output, path(output.name), " --overwrite").code, 2) << output.command;
    EXPECT_TRUE(fs::is_empty(path(output.name))) << output.command;
    fs::remove_all(path(output.name));
  }
}

TEST_F(OutputsTest, AnInputStaysByWhateverName) {
  fs::rename(path("own.shardlens"), path("s.csv"));
  const std::string before = contents("s.csv");
  fs::create_symlink("s.csv", path("link.csv"));
  fs::create_hard_link(path("s.csv"), path("hard.csv"));
  fs::create_hard_link(path("s.csv"), path("hard.json"));
  fs::create_hard_link(path("s.csv"), path("hard.png"));
  fs::create_hard_link(path("s.csv"), path("hard.svg"));
  for (const char* out : {"s.csv", "link.csv", "hard.csv", "hard.json"})
    for (const char* more : {"", " --overwrite"}) {
      const Ended ended = run_cli("export " + path("s.csv") + " " + path(out) + more);
      EXPECT_EQ(ended.code, 2) << out;
      EXPECT_TRUE(contains(ended.err, "this command reads that file; give the output another name"))
          << ended.err;
      EXPECT_EQ(contents("s.csv"), before) << out;
    }
  for (const char* out : {"--screenshot hard.png", "--export hard.svg"}) {
    const size_t space = std::string(out).find(' ');
    const Ended ended = draw_offscreen("--recording " + path("s.csv") + " " + std::string(out, space + 1) +
                                       path(out + space + 1));
    EXPECT_EQ(ended.code, 2) << out << ended.err;
    EXPECT_EQ(contents("s.csv"), before) << out;
  }
  write("text.txt", std::string(3000, 'a') + "\n");
  fs::create_hard_link(path("text.txt"), path("text.csv"));
  const std::string text = contents("text.txt");
  for (const std::string& option : {"--log " + path("text.csv"), "--record " + path("text.txt")}) {
    const Ended ended =
        run_cli("train --model gpt2-tiny --batch 1 --seq 16 --tp 1 --steps 1 --overwrite --data " +
                path("text.txt") + " " + option);
    EXPECT_EQ(ended.code, 2) << option << ended.err;
    EXPECT_EQ(contents("text.txt"), text) << option;
  }
  // Weights are of the same kind as a dump.
  ASSERT_EQ(run_cli(std::string(kTrain) + "--checkpoint " + path("run")).code, 0);
  const std::string weights = contents("run/model.safetensors");
  fs::create_hard_link(path("run/model.safetensors"), path("w.safetensors"));
  const Ended ended = run_cli("step --tp 1 --batch 1 --seq 8 --model " + path("run") +
                              " --overwrite --dump " + path("w.safetensors"));
  EXPECT_EQ(ended.code, 2) << ended.err;
  EXPECT_TRUE(contents("w.safetensors") == weights);
}

// A lock that another process holds.
class Held {
 public:
  explicit Held(const std::string& path) : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    EXPECT_EQ(flock(file_, LOCK_EX | LOCK_NB), 0);
  }
  ~Held() { close(file_); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  int file_;
};

TEST_F(OutputsTest, WhatAnotherRunWritesIsRefusedByName) {
  for (const Output& output : all_outputs()) {
    if (!output.is_owned) continue;
    const Held held(path(output.name + ".lock"));
    const Ended ended = run(output, path(output.name));
    EXPECT_EQ(ended.code, 2) << output.command << "\n" << ended.err;
    EXPECT_TRUE(contains(ended.err, "another run is writing to " + path(output.name))) << ended.err;
  }
}

TEST_F(OutputsTest, TwoOptionsDecideAboutTheSameKind) {
  for (const Output& output : all_outputs()) {
    if (!output.is_quick) continue;
    const std::string place = path(output.name);
    const Ended first = run(output, place);
    ASSERT_EQ(first.code, 0) << output.command << "\n" << first.err;
    EXPECT_FALSE(fs::exists(place + ".lock")) << output.command;
    const Ended again = run(output, place);
    EXPECT_EQ(again.code, output.is_kept ? 2 : 0) << output.command << "\n" << again.err;
    EXPECT_EQ(contains(again.err, "add --overwrite"), output.is_kept) << again.err;
    const Ended kept = run(output, place, " --no-overwrite");
    EXPECT_EQ(kept.code, 2) << output.command << "\n" << kept.err;
    const Ended replaced = run(output, place, " --overwrite");
    EXPECT_EQ(replaced.code, 0) << output.command << "\n" << replaced.err;
    fs::remove_all(place);
    EXPECT_EQ(run(output, place, " --no-overwrite").code, 0) << output.command;
    fs::remove_all(place);
  }
}

TEST_F(OutputsTest, TwoOutputsOfOneCommandAreTwoFiles) {
  const Ended ended =
      run_cli(std::string("step ") + kLayer + "--dump " + path("x") + " --record " + path("./x"));
  EXPECT_EQ(ended.code, 2);
  EXPECT_TRUE(contains(ended.err, "--dump and --record name the same file")) << ended.err;
  const Ended train = run_cli(std::string(kTrain) + "--log " + path("x") + " --checkpoint " + path("x"));
  EXPECT_EQ(train.code, 2);
  EXPECT_TRUE(contains(train.err, "--log and --checkpoint name the same file")) << train.err;
}

TEST_F(OutputsTest, EveryHelpSaysTheRule) {
  for (const char* verb : {"export", "step", "verify", "train", "bench", "data"})
    EXPECT_TRUE(contains(run_cli(std::string(verb) + " --help").out, "--no-overwrite")) << verb;
  EXPECT_TRUE(contains(draw_offscreen("--help").out, "--no-overwrite"));
}

}  // namespace outputs_test
}  // namespace shardlens
