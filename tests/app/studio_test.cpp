// Starts shardlens without a display, as a user does: the pictures that it writes, and its exit codes when
// the request is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/io/sqlite.h"

namespace studio_test {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Ended {
  int code = -1;
  std::string out;  ///< both streams
};

/// Runs the studio without a display.
Ended run(const std::string& arguments) {
  const std::string command = "env -u DISPLAY " + std::string(SHARDLENS_PROGRAM) + " " + arguments + " 2>&1";
  Ended ended;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return ended;
  std::array<char, 4096> buffer;
  for (size_t read; (read = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    ended.out.append(buffer.data(), read);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
  return ended;
}

constexpr const char* kTiny = "--model gpt2-tiny --tp 2 --batch 1 --seq 8 ";

class StudioProgram : public ::testing::Test {
 protected:
  StudioProgram() { std::filesystem::create_directories(folder_); }
  ~StudioProgram() override { std::filesystem::remove_all(folder_); }
  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / ("shardlens-program-" + std::to_string(getpid()));
};

/// Width and height in a PNG's header.
std::pair<int, int> png_size(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<unsigned char, 24> head{};
  file.read(reinterpret_cast<char*>(head.data()), head.size());
  const auto number = [&](size_t at) {
    return head[at] << 24 | head[at + 1] << 16 | head[at + 2] << 8 | head[at + 3];
  };
  return {number(16), number(20)};
}

TEST_F(StudioProgram, WritesAPictureOfTheSizeAskedFor) {
  const std::filesystem::path path = folder_ / "traffic.png";
  const Ended ended =
      run(kTiny + ("--view traffic --theme light --size 1280x720 --screenshot " + path.string()));
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_EQ(png_size(path), std::pair(1280, 720));
}

TEST_F(StudioProgram, RendersEveryViewAndPrintsWhere) {
  const Ended ended = run(kTiny + ("--size 640x480 --render-views " + (folder_ / "views").string()));
  EXPECT_EQ(ended.code, 0) << ended.out;
  for (const char* view : {"stage", "memory", "traffic", "compare", "tournament", "sweep", "program",
                           "inspector", "palette", "sheet"}) {
    const std::filesystem::path path = folder_ / "views" / (std::string(view) + ".png");
    EXPECT_THAT(ended.out, HasSubstr(path.string()));
    EXPECT_EQ(png_size(path), std::pair(640, 480)) << view;
  }
}

TEST_F(StudioProgram, MeasuresFramesAsJson) {
  const Ended ended = run(kTiny + std::string("--frame-benchmark --frames 10 --size 640x480 --json"));
  ASSERT_EQ(ended.code, 0) << ended.out;
  const nlohmann::json json = nlohmann::json::parse(ended.out);
  for (const char* kind : {"idle", "idle_whole", "computing", "computing_whole"}) {
    EXPECT_EQ(json.at(kind).at("frames"), 10);
    EXPECT_LE(json.at(kind).at("drawn_share"), 1);
    EXPECT_GT(json.at(kind).at("median_seconds"), 0);
    EXPECT_GE(json.at(kind).at("p99_seconds"), json.at(kind).at("median_seconds"));
    EXPECT_GT(json.at(kind).at("own_median_seconds"), 0);
    EXPECT_GE(json.at(kind).at("own_p99_seconds"), json.at(kind).at("own_median_seconds"));
    // A thread cannot have worked longer than the frame took.
    EXPECT_LE(json.at(kind).at("own_median_seconds"), json.at(kind).at("median_seconds"));
  }
  EXPECT_EQ(json.at("idle").at("drawn_share"), 0);
  EXPECT_EQ(json.at("idle_whole").at("drawn_share"), 1);
}

TEST_F(StudioProgram, MeasuresStartsAsJson) {
  const Ended ended = run(kTiny + std::string("--start-benchmark --starts 2 --size 640x480 --json"));
  ASSERT_EQ(ended.code, 0) << ended.out;
  const nlohmann::json json = nlohmann::json::parse(ended.out);
  EXPECT_EQ(json.at("starts"), 2);
  double before = 0;
  for (const char* part :
       {"main_seconds", "platform_seconds", "studio_seconds", "first_frame_seconds", "executed_seconds"}) {
    EXPECT_GT(json.at(part).at("median_seconds"), before) << part;
    EXPECT_GE(json.at(part).at("longest_seconds"), json.at(part).at("median_seconds"));
    before = json.at(part).at("median_seconds");
  }
}

TEST_F(StudioProgram, AFileByItselfIsTheRecording) {
  const std::filesystem::path path = folder_ / "replay.png", recording = folder_ / "run.shardlens";
  const std::string record = SHARDLENS_CLI_PROGRAM " step " + std::string(kTiny) + "--record ";
  ASSERT_EQ(std::system((record + recording.string() + " >/dev/null").c_str()), 0);
  const Ended ended = run(recording.string() + " --view replay --size 640x480 --screenshot " + path.string());
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_EQ(png_size(path), std::pair(640, 480));
}

// What a picture waits for then never comes: each way to make one ends with the reader's words.
TEST_F(StudioProgram, APictureOfAnUnreadableRecordingEndsWithTheReadersWords) {
  const std::filesystem::path recording = folder_ / "run.shardlens", lesson = folder_ / "lesson.md";
  const std::string record = SHARDLENS_CLI_PROGRAM " step --updates 3 " + std::string(kTiny) + "--record ";
  ASSERT_EQ(std::system((record + recording.string() + " >/dev/null").c_str()), 0);
  shardlens::Database(recording.string(), shardlens::Database::Access::ReadWrite)
      .run("UPDATE passes SET begin_ns = 'soon' WHERE pass = 1");
  const auto lesson_of = [&](const std::string& scene) {
    std::ofstream(lesson) << "+++\ntitle = \"T\"\nasks = \"?\"\nminutes = 5\n[run]\nmodel = \"gpt2-tiny\"\n"
                             "batch = 1\nseq = 8\ntp = 2\n+++\n## A\nWords.\n```scene\n"
                          << scene << "\n```\n";
    return "--lesson " + lesson.string();
  };
  const std::string file = recording.string(),
                    picture = " --size 640x480 --screenshot " + (folder_ / "a.png").string(),
                    scene = "recording = \"" + file + "\"\nmoment = 100.0";
  const std::string wishes[] = {
      file + " --pass 1 --view replay" + picture,
      file + " --view replay" + picture,  // the middle pass
      file + " --at 100" + picture,
      file + " --size 640x480 --video " + (folder_ / "a.mp4").string(),
      file + " --export " + (folder_ / "a.svg").string(),
      lesson_of(scene) + picture,
      lesson_of(scene) + " --slides " + (folder_ / "slides").string(),
      lesson_of(scene) + " --handout " + (folder_ / "a.html").string(),
      lesson_of("view = \"compare\"\ncompare = { recording = \"" + file + "\" }") + picture,
  };
  for (const std::string& wish : wishes) {
    const Ended ended = run(wish);
    EXPECT_EQ(ended.code, 2) << wish;
    EXPECT_THAT(ended.out, HasSubstr("its begin_ns is a text")) << wish;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a.png"));
}

TEST_F(StudioProgram, RefusesAWrongRequestAndNamesTheRemedy) {
  const std::string picture = "--screenshot " + (folder_ / "none.png").string() + " ";
  const std::filesystem::path model = folder_ / "model";
  std::filesystem::create_directory(model);
  std::ofstream(model / "config.json") << "{}";
  const std::pair<std::string, std::string> wrong[] = {
      {picture + "--model gpt2 --tp 5", "4"},
      {picture + "--model gtp2", "gpt2"},
      {picture + "--split megatorn", "megatron"},
      {picture + "--view stag", "stage"},
      {picture + "--theme pink", "dark"},
      {picture + "--size 1920", "1920x1080"},
      {picture + "--size 0x0", "320x240"},
      {picture + "--scale 0", "between 0.5 and 4"},
      {picture + "--batch 0", "batch"},
      {picture + kTiny + "--step 9999", "steps 0 to"},
      {picture + kTiny + "--step mlp.fcc", "mlp.fc"},
      {picture + "--no-such-option", "--help"},
      {picture + "--norm sideways", "post"},
      {picture + "--comm mpi", "leave it out"},
      {picture + "--comm threads", "local"},
      {picture + "--at 1 --pass 1 --recording x.shardlens", "--pass and --at exclude each other"},
      {picture + "--tp two", "\"two\" is not a whole number"},
      {picture + "--pass -1 --recording x.shardlens", "-1 is not possible; give 0 or more"},
      {picture + "--at nan --recording x.shardlens", "\"nan\" is not a number"},
      {picture + "--recording " + folder_.string(), "give one of the recordings"},
      {picture + folder_.string() + "/none.shardlens", "there is no such file"},
      {picture + "a.shardlens --recording b.shardlens", "give one of them"},
      {picture + model.string(), "open it with --model " + model.string()},
      {picture + (model / "model.safetensors").string(), "open it with --model " + model.string()},
      {picture + "--compare ''", "--compare: the value is empty"},
      {picture + "--seed= 7", "--seed: \"\" is not a whole number"},
      {picture + "--lecture= --seed 7", "--lecture takes no value; write --lecture alone"},
      {std::string(kTiny) + "--screenshot /proc/nowhere/a.png", "name a folder that exists"},
      {std::string(kTiny) + "--screenshot picture.bmp", "ends in .png"},
      {kTiny, "--screenshot"}};  // no display: the other way to see something
  for (const auto& [arguments, remedy] : wrong) {
    const Ended ended = run(arguments);
    EXPECT_EQ(ended.code, 2) << arguments << "\n" << ended.out;
    EXPECT_THAT(ended.out, StartsWith("shardlens: ")) << arguments;
    EXPECT_THAT(ended.out, HasSubstr(remedy)) << arguments;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "none.png"));
}

TEST_F(StudioProgram, HelpTeachesWithExamples) {
  const Ended ended = run("--help");
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.out, HasSubstr("Examples"));
  EXPECT_THAT(ended.out, HasSubstr("--render-views"));
}

}  // namespace studio_test
