// The remembered state is written and read back. If the file cannot be understood, the studio shows a message
// and starts anyway.
#include "ui/remember/state_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/io/sole_writer.h"
#include "ui/panels/compare/compare_view.h"
#include "ui/panels/train/train_choices.h"
#include "ui/remember/recent_recordings.h"
#include "ui/remember/state_values.h"

namespace shardlens::ui {
namespace state_file_test {

using ::testing::HasSubstr;

class StateFile : public ::testing::Test {
 protected:
  StateFile() { std::filesystem::create_directories(folder_); }
  ~StateFile() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& text) const { std::ofstream(path_) << text; }
  std::string text(const std::filesystem::path& path) const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string text() const { return text(path_); }
  int64_t files() const {
    return std::distance(std::filesystem::directory_iterator(path_.parent_path()), {});
  }

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
  state.by_hand.choice = {
      .fc = Cut::Row, .proj = Cut::Column, .stream = NormCut::Sequence, .mistake = Fault::GeluOnPartial};
  state.by_hand.operands = lab::hand_operands(lab::HandNumbers::Random, 5);
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

/// A state in which no value is the default one.
RememberedState other_state() {
  RememberedState state;
  state.theme = ThemeName::Light;
  state.scale = 1.5f;
  state.lecture = true;
  state.tab = Tab::Train;
  state.memory_this_layer = true;
  state.program_filter = "all-reduce";
  state.layout = "[Window][Stage]\nPos=0,0\n";
  state.train.steps = 7;
  state.compared.steps = 8;
  state.traffic_times = true;
  state.scaling.tp = 4;
  state.compare_page = ComparePage::Sweep;
  state.compare_splits = {"row-row", kOwnSplit, ""};
  state.writing.prompt = "And God said";
  state.recent = {"/a/run.shardlens"};
  state.lessons = {{"heads", {1, {0, 1}, {"heads/1"}, {}}}, {"walk", {2, {2}, {}, {}}}};
  state.last_lesson = "heads";
  return state;
}

TEST_F(StateFile, AWrongValueIsNamedByItsKeyAndCostsOnlyItself) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"theme":"pink"})", "\"theme\""},
      {R"({"scale":1e9})", "\"scale\": 1000000000 is not between 0.5 and 4"},
      {R"({"scale":"big"})", "\"scale\" must be a number"},
      {R"({"lecture":1})", "\"lecture\" must be true or false"},
      {R"({"tab":"kitchen"})", "unknown tab \"kitchen\""},
      {R"({"layout":7})", "\"layout\" must be a text"},
      {R"({"layout":"[Docking][Data]\nDockNode ID=0x1"})", "line 2 of the layout"},
      {R"({"memory_this_layer":"yes"})", "\"memory_this_layer\" must be true or false"},
      {R"({"program_filter":[]})", "\"program_filter\" must be a text"},
      {R"({"train":7})", "train: expected an object, found 7"},
      {R"({"train":{"model":3}})", "train: \"model\" must be a text, found 3"},
      {R"({"train":{"steps":0}})", "train, \"steps\": 0 is not between 1 and"},
      {R"({"train":{"tp":-1,"batch":1e30}})", ", and 1 more like it"},
      {R"({"compared":{"dropout":2}})", "compared, \"dropout\": 2 is not between 0 and 1"},
      {R"({"writing":7})", "writing: expected an object, found 7"},
      {R"({"writing":{"tokens":0}})", "\"tokens\": 0 is not between 1 and"},
      {R"({"traffic_times":"yes"})", "\"traffic_times\" must be true or false, found \"yes\""},
      {R"({"by_hand":{"X":"1 10"}})", "by_hand, \"X\": “10” is too large"},
      {R"({"by_hand":{"mistake":"skip-h"}})", "by_hand, \"mistake\": "},
      {R"({"scaling":{"pp":1000000000}})", "scaling, \"pp\": 1000000000 is not between 1 and 1000000"},
      {R"({"compare_page":"none"})", "\"compare_page\""},
      {R"({"compare_splits":["megatron"]})", "compare_splits: expected 3 names"},
      {R"({"recent":[1]})", "recent: expected a list of texts"},
      {R"({"lessons":{"heads":1}})", "lessons: expected a list"},
      {R"({"last_lesson":null})", "\"last_lesson\" must be a text"}};
  for (const auto& [wrong, why] : cases) {
    std::filesystem::remove_all(path_.parent_path());
    write_state(other_state(), path_);
    nlohmann::json json = nlohmann::json::parse(text());
    const nlohmann::json harm = nlohmann::json::parse(wrong);
    const std::string key = harm.begin().key();
    json[key] = harm.begin().value();
    write(json.dump());
    const std::string harmed = text();

    RememberedState found = read_state(path_, problem_);
    EXPECT_THAT(problem_, HasSubstr(why)) << wrong;
    EXPECT_THAT(problem_, HasSubstr(path_.string()));
    EXPECT_EQ(problem_.find("json.exception"), std::string::npos) << problem_;
    for (const StateValue& value : state_values()) {
      if (value.key == key) continue;
      EXPECT_EQ(value.write(found), value.write(other_state())) << value.key << " went with " << wrong;
    }
    // The next change keeps the file aside and writes a sound one.
    const RememberedState before = found;
    found.program_filter = "changed";
    write_state(found, path_, before);
    EXPECT_EQ(read_state(path_, problem_), found) << wrong;
    EXPECT_EQ(problem_, "");
    EXPECT_EQ(text(path_.string() + ".kept"), harmed);
  }
}

// Whatever is in the file: what is read is a state that the studio could have written.
TEST_F(StateFile, AHarmedFileGivesASoundState) {
  write_state(other_state(), path_);
  const std::string sound = text();
  const std::filesystem::path again = path_.parent_path() / "again.json";
  std::mt19937 random(1);
  const auto below = [&](size_t end) { return static_cast<size_t>(random() % end); };
  const std::string bytes = "0123456789-+.eE\"{}[]:,ntf\\ \x01\xff";
  int read_at_all = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string harmed = sound;
    for (size_t edits = 1 + below(3); edits > 0; --edits) {
      const size_t at = below(harmed.size());
      switch (below(4)) {
        case 0:
          harmed[at] = bytes[below(bytes.size())];
          break;
        case 1:
          harmed.insert(at, 1, bytes[below(bytes.size())]);
          break;
        case 2:
          harmed.erase(at, 1 + below(12));
          break;
        default:
          harmed.insert(at, harmed.substr(below(harmed.size()), below(40)));
      }
    }
    write(harmed);
    const RememberedState found = read_state(path_, problem_);
    if (!(found == RememberedState{})) ++read_at_all;
    std::filesystem::remove(again);
    write_state(found, again);
    EXPECT_EQ(read_state(again, problem_), found) << harmed;
    EXPECT_EQ(problem_, "") << harmed;
  }
  EXPECT_GT(read_at_all, 100) << "most harm is elsewhere than in a value";
}

TEST_F(StateFile, OneWrongLessonCostsNoOther) {
  std::filesystem::create_directories(path_.parent_path());
  const char* const wrong[] = {R"({"lesson":"walk","scene":-1,"seen":[],"right":[]})",
                               R"({"lesson":"walk","scene":0,"seen":[1e9],"right":[]})",
                               R"({"lesson":"walk","scene":0,"seen":[0],"right":[7]})",
                               R"({"scene":0,"seen":[0],"right":[]})", "7"};
  for (const char* one : wrong) {
    write(std::string(R"({"format":1,"lessons":[)") + one +
          R"(,{"lesson":"heads","scene":1,"seen":[1],"right":[]}]})");
    const RememberedState found = read_state(path_, problem_);
    EXPECT_THAT(problem_, HasSubstr("lessons"));
    ASSERT_EQ(found.lessons.size(), 1) << one;
    EXPECT_EQ(found.lessons.at("heads").scene, 1);
  }
}

TEST_F(StateFile, WhatCannotBeReadIsKeptAsideBeforeItIsWrittenOver) {
  std::filesystem::create_directories(path_.parent_path());
  for (const auto& [wrong, kept] : {std::pair<const char*, const char*>{"{ broken", ".kept"},
                                    {R"({"format":2,"new":true})", ".kept-2"},
                                    {"{ broken", ".kept"}}) {
    write(wrong);
    RememberedState state = read_state(path_, problem_), before = state;
    EXPECT_THAT(problem_, HasSubstr("studio.json" + std::string(kept)));
    EXPECT_EQ(text(), wrong) << "as long as nothing has changed";
    state.theme = ThemeName::Light;
    write_state(state, path_, before);
    EXPECT_EQ(text(path_.string() + kept), wrong);
    EXPECT_EQ(read_state(path_, problem_).theme, ThemeName::Light);
  }
  EXPECT_EQ(files(), 3) << "the same is kept once";
}

TEST_F(StateFile, WhatANewerVersionHasAddedStays) {
  std::filesystem::create_directories(path_.parent_path());
  write(R"({"format":1,"theme":"light","added":{"later":1}})");
  RememberedState state = read_state(path_, problem_), before = state;
  EXPECT_EQ(problem_, "");
  state.lecture = true;
  write_state(state, path_, before);
  EXPECT_THAT(text(), HasSubstr("\"later\": 1"));
  EXPECT_EQ(files(), 1);
}

// Every value: one studio changes it, and another one every other value.
TEST_F(StateFile, TwoStudiosMerge) {
  const RememberedState other = other_state();
  for (const StateValue& changed : state_values()) {
    std::filesystem::remove_all(path_.parent_path());
    write_state({}, path_);
    RememberedState first;
    changed.merge(first, {}, other);
    RememberedState second = other;
    const RememberedState defaults;
    for (const StateValue& value : state_values())
      if (value.key == std::string(changed.key)) value.merge(second, other, defaults);
    write_state(first, path_, {});
    write_state(second, path_, {});
    EXPECT_EQ(read_state(path_, problem_), other) << changed.key;
  }
}

TEST_F(StateFile, BothStudiosRecordingsAndProgressStay) {
  const std::vector<std::string> before{"/a", "/b", "/c", "/d", "/e", "/f"};
  using List = std::vector<std::string>;
  EXPECT_EQ(merged_recent(before, {"/x", "/a", "/b", "/c", "/d", "/e"}, {"/y", "/a", "/b", "/c", "/d", "/e"}),
            (List{"/x", "/y", "/a", "/b", "/c", "/d"}));
  EXPECT_EQ(merged_recent(before, {"/c", "/a", "/b", "/d", "/e", "/f"}, {"/y", "/a", "/b", "/c", "/d", "/e"}),
            (List{"/c", "/y", "/a", "/b", "/d", "/e"}));
  EXPECT_EQ(merged_recent(before, before, {"/y", "/a"}), (List{"/y", "/a"}));
  EXPECT_EQ(merged_recent({}, {"/x"}, {}), List{"/x"});

  RememberedState state;
  state.lessons = {{"heads", {1, {0, 1}, {"a"}, {"b"}}}, {"walk", {0, {0}, {}, {}}}};
  write_state(state, path_);
  RememberedState first = state, second = state;
  first.lessons["heads"] = {2, {0, 1, 2}, {"a", "c"}, {"b"}};
  first.lessons.erase("walk");
  second.lessons["heads"].seen = {0, 1, 5};
  second.lessons["mine"].scene = 3;
  write_state(first, path_, state);
  write_state(second, path_, state);
  const RememberedState merged = read_state(path_, problem_);
  EXPECT_EQ(merged.lessons.at("heads"), (LessonProgress{2, {0, 1, 2, 5}, {"a", "c"}, {"b"}}));
  EXPECT_EQ(merged.lessons.at("mine").scene, 3);
  EXPECT_FALSE(merged.lessons.contains("walk"));
}

// Another studio holds the lock and does not let go: it may be stopped.
TEST_F(StateFile, AStudioThatDoesNotLetGoIsNotWaitedForForEver) {
  write_state({}, path_);
  const SoleWriter other(path_.string());
  EXPECT_THROW(write_state(other_state(), path_), Error);
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
  for (const char* wrong :
       {"", "not json", "{\"format\": 1", "[]", "{}", "{\"format\": 99}", "{\"format\": \"1\"}"}) {
    write(wrong);
    EXPECT_EQ(read_state(path_, problem_), RememberedState{}) << wrong;
    EXPECT_THAT(problem_, HasSubstr(path_.string())) << wrong;
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
