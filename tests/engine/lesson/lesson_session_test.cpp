// An open lesson: scenes are made, answers marked, and a changed file is read again.
#include "engine/lesson/lesson_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "engine/config/splits.h"
#include "engine/io/temporary_folder.h"
#include "engine/runtime/plan.h"
#include "tests/engine/lesson/small_lesson.h"

namespace shardlens {
namespace lesson_session_test {

using ::testing::HasSubstr;
using testing::kHead;
using testing::lesson_text;
using testing::question_block;
using testing::scene_block;

constexpr double kTimeoutSeconds = 300;

const std::string kMeet =
    "ask = \"How often do the ranks meet?\"\nchoices = [\"1\", \"2\", \"{{ranks}}\", \"7\"]\n"
    "answer = \"collectives()\"\nbecause = \"explain(collective(1))\"";

std::string text_of_two_scenes(const std::string& first = "{{ranks}} ranks.\n") {
  return lesson_text(first + scene_block("select = \"mlp.proj\"") + question_block(kMeet)) +
         "## Another scene\nOther words.\n";
}

class OpenLesson : public ::testing::Test {
 protected:
  OpenLesson() : path_(folder_.path() + "/two.md") {}

  void write(const std::string& text) { std::ofstream(path_) << text; }
  std::shared_ptr<const LessonSnapshot> after(LessonCommand command) {
    session_.send(std::move(command));
    return session_.wait_until_idle(kTimeoutSeconds);
  }
  std::shared_ptr<const LessonSnapshot> open() {
    write(text_of_two_scenes());
    return after(lesson_command::Open{path_, {}});
  }

  TemporaryFolder folder_;
  std::string path_;
  LessonSession session_;
};

TEST_F(OpenLesson, MakesAScene) {
  const auto opened = open();
  ASSERT_TRUE(opened->is_open()) << opened->message;
  EXPECT_EQ(opened->path, path_);
  ASSERT_EQ(opened->scenes.size(), 2u);
  EXPECT_EQ(opened->scenes[0].shown, nullptr);
  const auto made = after(lesson_command::Make{0});
  ASSERT_NE(made->scenes[0].shown, nullptr) << made->scenes[0].problem;
  EXPECT_EQ(made->scenes[0].shown->text[0].spans[0].text, "4 ranks.");
  EXPECT_EQ(made->scenes[0].shown->questions[0].choices.size(), 4u);
  EXPECT_EQ(made->scenes[0].shown->settings.tp, 4);
  EXPECT_EQ(made->scenes[1].shown, nullptr);
}

TEST_F(OpenLesson, ABuiltInOneHasNoFile) {
  const auto opened = after(lesson_command::Open{"column-then-row", {}});
  ASSERT_TRUE(opened->is_open()) << opened->message;
  EXPECT_EQ(opened->path, "");
  EXPECT_FALSE(after(lesson_command::Close{})->is_open());
}

TEST_F(OpenLesson, WhatCannotBeOpenedLeavesTheLesson) {
  const uint64_t reading = open()->reading;
  const auto after_it = after(lesson_command::Open{"colum-then-row", {}});
  EXPECT_THAT(after_it->message, HasSubstr("did you mean"));
  EXPECT_TRUE(after_it->is_open());
  EXPECT_EQ(after_it->path, path_);
  EXPECT_EQ(after_it->reading, reading);
}

TEST_F(OpenLesson, MarksAndReveals) {
  open();
  const auto wrong = after(lesson_command::Answer{"a-scene/1", "7"});
  ASSERT_TRUE(wrong->marked.contains("a-scene/1")) << wrong->message;
  EXPECT_FALSE(wrong->marked.at("a-scene/1").right);
  EXPECT_FALSE(wrong->answers.contains("a-scene/1"));
  EXPECT_EQ(wrong->shows.at("a-scene/1"), nullptr);
  const auto right = after(lesson_command::Answer{"a-scene/1", "2"});
  EXPECT_TRUE(right->marked.at("a-scene/1").right);
  EXPECT_EQ(right->answers.at("a-scene/1").text, "2");
  EXPECT_EQ(right->answered, nlohmann::json({{"a-scene/1", "2"}})) << "what is handed in: the last answer";
  const auto forgotten = after(lesson_command::Forget{"a-scene/1"});
  EXPECT_FALSE(forgotten->marked.contains("a-scene/1"));
  EXPECT_TRUE(forgotten->answered.empty());
  const auto revealed = after(lesson_command::Reveal{"a-scene/1"});
  EXPECT_EQ(revealed->answers.at("a-scene/1").text, "2");
  EXPECT_THAT(after(lesson_command::Reveal{"a-scene/2"})->message, HasSubstr("a-scene/1"));
}

TEST_F(OpenLesson, AWrongAnswerIsShownWhereItWouldBeRight) {
  write(lesson_text(scene_block("select = \"mlp.proj\"") +
                    question_block("ask = \"?\"\nkind = \"number\"\nanswer = \"collectives(forward)\"\n"
                                   "because = \"explain(collective(1))\"")));
  after(lesson_command::Open{path_, {}});
  const auto one_rank = after(lesson_command::Answer{"a-scene/1", 2});
  const auto& shows = one_rank->shows.at("a-scene/1");
  ASSERT_NE(shows, nullptr);
  EXPECT_THAT(shows->where_right, HasSubstr("Wfc cut by rows"));
  EXPECT_NE(shows->settings.split, named_split("megatron"));
  // Nowhere right.
  EXPECT_EQ(after(lesson_command::Answer{"a-scene/1", 5000})->shows.at("a-scene/1"), nullptr);
}

// Two meetings by all-gathers are not two all-reduces.
TEST_F(OpenLesson, AWrongAnswerIsRightOnlyWhereItsWordsAre) {
  write(lesson_text(scene_block("select = \"mlp.proj\"") +
                    question_block("ask = \"?\"\nkind = \"number\"\nanswer = \"all_reduces(forward)\"\n"
                                   "because = \"explain(collective(1))\"")));
  after(lesson_command::Open{path_, {}});
  const auto two = after(lesson_command::Answer{"a-scene/1", 2});
  const auto& shows = two->shows.at("a-scene/1");
  if (shows) {
    int64_t all_reduces = 0;
    for (const Step& step : make_plan(shows->settings)->program.steps)
      all_reduces += step.op == Op::AllReduce && step.phase == Phase::Forward;
    EXPECT_EQ(all_reduces, 2) << shows->where_right;
  }
  EXPECT_EQ(two->carried_out.at("a-scene/1"), 1);
}

TEST_F(OpenLesson, TheAuthorsHintComesBeforeWhatAPlanSays) {
  write(
      lesson_text(scene_block("select = \"mlp.proj\"") +
                  question_block("ask = \"?\"\nkind = \"number\"\nanswer = \"collectives(forward)\"\n"
                                 "hints = [{ at = \"collectives()\", text = \"Both: {{collectives()}}.\" }]\n"
                                 "because = \"explain(collective(1))\"")));
  after(lesson_command::Open{path_, {}});
  const auto both = after(lesson_command::Answer{"a-scene/1", 2});
  EXPECT_EQ(both->marked.at("a-scene/1").hint, "Both: 2.");
  EXPECT_EQ(both->shows.at("a-scene/1"), nullptr);
}

TEST_F(OpenLesson, ReadsAChangedFileAgain) {
  const auto opened = open();
  const uint64_t version = opened->version;
  EXPECT_EQ(after(lesson_command::Look{})->version, version) << "nothing has changed";
  after(lesson_command::Answer{"a-scene/1", "2"});
  write(text_of_two_scenes("Now there are {{ranks}} ranks.\n"));
  const auto again = after(lesson_command::Look{});
  EXPECT_EQ(again->reading, opened->reading + 1);
  EXPECT_TRUE(again->marked.empty());
  EXPECT_EQ(after(lesson_command::Make{0})->scenes[0].shown->text[0].spans[0].text, "Now there are 4 ranks.");
}

TEST_F(OpenLesson, AHarmedFileLeavesTheLessonAsItWas) {
  const auto opened = open();
  write(text_of_two_scenes("{{rangs}} ranks and more.\n"));
  const auto after_it = after(lesson_command::Look{});
  EXPECT_THAT(after_it->message, HasSubstr("two.md:14: "));
  EXPECT_THAT(after_it->message, HasSubstr("ranks"));
  EXPECT_EQ(after_it->reading, opened->reading);
  EXPECT_TRUE(after_it->is_open());
  const uint64_t version = after_it->version;
  EXPECT_EQ(after(lesson_command::Look{})->version, version) << "the same fault is said once";
  write(text_of_two_scenes("It is mended, for {{ranks}} ranks.\n"));
  EXPECT_EQ(after(lesson_command::Look{})->reading, opened->reading + 1);
}

TEST_F(OpenLesson, AFileThatGoesAwayLeavesTheLesson) {
  open();
  std::filesystem::remove(path_);
  const auto after_it = after(lesson_command::Look{});
  EXPECT_TRUE(after_it->is_open());
  EXPECT_THAT(after_it->message, HasSubstr("two.md"));
}

}  // namespace lesson_session_test
}  // namespace shardlens
