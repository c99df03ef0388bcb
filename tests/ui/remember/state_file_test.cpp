// The remembered state is written and read back. If the file cannot be understood, the studio shows a message
// and starts anyway.
#include "ui/remember/state_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "ui/panels/compare/compare_view.h"
#include "ui/panels/train/train_choices.h"

namespace shardlens::ui {
namespace state_file_test {

using ::testing::HasSubstr;

class StateFile : public ::testing::Test {
 protected:
  StateFile() { std::filesystem::create_directories(folder_); }
  ~StateFile() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& text) const { std::ofstream(path_) << text; }

  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / ("shardlens-state-" + std::to_string(getpid()));
  const std::filesystem::path path_ = folder_ / "deeper" / "studio.json";
  std::string problem_ = "unset";
};

TEST_F(StateFile, WhatIsWrittenIsReadBack) {
  RememberedState state{
      ThemeName::Light, 1.3f, true, Tab::Train, true, "all-reduce", "[Window][Stage]\nPos=0,0\n", {}, {}};
  state.train.model = "gpt2";
  state.train.text = "/a/t\xeaxt.txt";
  state.train.dtype = DType::Fp16;
  state.compared.peak = 7e-3;
  state.compare_page = ComparePage::Sweep;
  state.compare_splits = {"row-row", kOwnSplit, ""};
  state.writing = {"And God said", 320, 0.5, 100};
  state.recent = {"/a/run.shardlens", "/b/caf\xe9.shardlens"};  // not UTF-8
  state.lessons = {{"column-then-row", {3, {0, 1, 3}, {"where-do-the-ranks-meet/1"}, {"heads/2"}}},
                   {"/b/caf\xe9.md", {0, {0}, {}, {}}}};
  state.last_lesson = "/b/caf\xe9.md";
  write_state(state, path_);
  EXPECT_EQ(read_state(path_, problem_), state);
  EXPECT_EQ(problem_, "");
}

TEST_F(StateFile, AFileFromBeforeThePagesWereRememberedIsRead) {
  std::filesystem::create_directories(path_.parent_path());
  write(R"({"format":1,"theme":"light","scale":1.3,"lecture":false,"tab":"memory","layout":""})");
  const RememberedState state{ThemeName::Light,    1.3f, false, Tab::Memory, false, "", "", {},
                              comparison_choices()};
  EXPECT_EQ(read_state(path_, problem_), state);
  EXPECT_EQ(problem_, "");
}

TEST_F(StateFile, IsWrittenWholeOrNotAtAll) {
  write_state({}, path_);
  write_state({ThemeName::Light, 2, false, Tab::Program, false, "", "", {}, {}}, path_);
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_.parent_path())) ++files;
  EXPECT_EQ(files, 1) << "nothing half-written is left beside it";
}

TEST_F(StateFile, AFailedWriteLeavesNothingBehind) {
  std::filesystem::create_directories(path_);  // a folder in its place
  std::ofstream(path_ / "something") << "so that it cannot be replaced";
  EXPECT_THROW(write_state({}, path_), std::exception);
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_.parent_path())) ++files;
  EXPECT_EQ(files, 1);
}

TEST_F(StateFile, NoFileIsTheFirstStart) {
  EXPECT_EQ(read_state(path_, problem_), RememberedState{});
  EXPECT_EQ(problem_, "");
}

TEST_F(StateFile, AWrongValueIsNamedByItsKey) {
  std::filesystem::create_directories(path_.parent_path());
  const std::string begin =
      R"({"format":1,"theme":"dark","scale":1,"lecture":false,"tab":"stage","layout":"")";
  const std::pair<const char*, const char*> cases[] = {
      {R"(,"recent":[1]})", "recent: expected a list of texts"},
      {R"(,"train":{"model":3}})", "train: \"model\" must be a text, found 3"},
      {R"(,"writing":7})", "writing: expected an object, found 7"},
      {R"(,"traffic_times":"yes"})", "\"traffic_times\" must be true or false, found \"yes\""},
      {R"(,"compare_splits":["megatron"]})", "compare_splits: expected 3 names"},
      {R"(,"lessons":{"heads":1}})", "lessons: expected a list"},
      {R"(,"lessons":[{"lesson":"heads","scene":-1,"seen":[],"right":[]}]})",
       "lessons: scenes are numbers from 0 to 99"},
      {R"(,"lessons":[{"lesson":"heads","scene":0,"seen":[0,1e9],"right":[]}]})",
       "lessons: scenes are numbers"},
      {R"(,"lessons":[{"lesson":"heads","scene":0,"seen":[0],"right":[7]}]})",
       "lessons: expected a list of texts"},
      {R"(,"lessons":[{"scene":0,"seen":[0],"right":[]}]})", "\"lesson\""}};
  for (const auto& [rest, why] : cases) {
    write(begin + rest);
    EXPECT_EQ(read_state(path_, problem_), RememberedState{});
    EXPECT_THAT(problem_, HasSubstr(why));
    EXPECT_EQ(problem_.find("json.exception"), std::string::npos) << problem_;
  }
}

TEST_F(StateFile, APipeIsNotWaitedFor) {
  std::filesystem::create_directories(path_.parent_path());
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(read_state(path_, problem_), RememberedState{});
  EXPECT_THAT(problem_, HasSubstr("is not a regular file"));
}

// It is there, so it is not the first start. (A loop of links stops root too.)
TEST_F(StateFile, AFileThatMayNotBeReadGivesTheDefaultsAndASentence) {
  std::filesystem::create_directories(path_.parent_path());
  std::filesystem::create_symlink(path_.filename(), path_);
  EXPECT_EQ(read_state(path_, problem_), RememberedState{});
  EXPECT_THAT(problem_, HasSubstr(path_.string()));
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_EQ(read_state(path_, problem_), RememberedState{});
  EXPECT_THAT(problem_, HasSubstr(path_.string()));
}

TEST_F(StateFile, AFileThatCannotBeUnderstoodGivesTheDefaultsAndASentence) {
  std::filesystem::create_directories(path_.parent_path());
  for (const char* text :
       {"", "not json", "{\"format\": 1", "[]", "{\"format\": 99}", "{\"format\": 1, \"theme\": \"pink\"}",
        R"({"format":1,"theme":"dark","scale":1e9,"lecture":false,"tab":"stage","layout":""})",
        R"({"format":1,"theme":"dark","scale":"big","lecture":false,"tab":"stage","layout":""})"}) {
    write(text);
    EXPECT_EQ(read_state(path_, problem_), RememberedState{}) << text;
    EXPECT_THAT(problem_, HasSubstr(path_.string())) << text;
  }
}

TEST_F(StateFile, APlaceThatCannotBeWrittenIsNamed) {
  try {
    write_state({}, "/proc/shardlens/studio.json");
    FAIL() << "nothing was thrown";
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("/proc/shardlens/studio.json"));
  }
}

}  // namespace state_file_test
}  // namespace shardlens::ui
