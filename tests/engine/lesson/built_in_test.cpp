// Every built-in lesson holds: its scenes can be planned and run, and its answers are what the engine gives.
#include "engine/lesson/built_in.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "engine/base/error.h"
#include "engine/config/assets.h"
#include "engine/lesson/check.h"
#include "engine/lesson/functions.h"
#include "engine/lesson/run_keys.h"
#include "engine/lesson/views.h"
#include "tests/data_folder.h"
#include "tests/engine/lesson/built_in_names.h"
#include "tests/engine/lesson/small_lesson.h"

namespace shardlens {
namespace lesson_built_in_test {

using ::testing::HasSubstr;

class BuiltInLesson : public ::testing::TestWithParam<std::string> {};

TEST_P(BuiltInLesson, Holds) {
  const auto lesson = find_lesson(GetParam());
  const LessonCheck check = check_lesson(*lesson, {1, 2, 3});
  for (const LessonProblem& problem : check.problems) ADD_FAILURE() << problem.where << ": " << problem.what;
  EXPECT_GE(check.questions, 3);
  EXPECT_LE(lesson->scenes.size(), kMostScenes);
  EXPECT_TRUE(lesson->asks.ends_with("?"));
  EXPECT_LE(lesson->title.size(), 45u);
  EXPECT_LE(lesson->asks.size(), 110u) << "two lines on the start page";
  bool hands_on = false;
  for (const Scene& scene : lesson->scenes) {
    EXPECT_FALSE(scene.notes.empty()) << scene.title << ": who teaches needs its notes";
    for (const Question& question : scene.questions) {
      hands_on |= question.kind == QuestionKind::Point || question.kind == QuestionKind::Cut;
      const bool has_usual_wrong_answers = question.kind == QuestionKind::Point ||
                                           question.kind == QuestionKind::Number ||
                                           question.kind == QuestionKind::Order;
      EXPECT_TRUE(!has_usual_wrong_answers || !question.hints.empty())
          << question.id << ": who is wrong is helped on";
    }
  }
  EXPECT_TRUE(hands_on) << "one question is to be pointed at or cut";
}

INSTANTIATE_TEST_SUITE_P(All, BuiltInLesson, ::testing::ValuesIn(testing::built_in_names()),
                         testing::test_name);

TEST(Lessons, EveryEmbeddedFileIsListed) {
  std::set<std::string> files, listed;
  for (const EmbeddedFile& file : embedded_assets())
    if (file.name.starts_with("lessons/") && file.name.ends_with(".md")) files.insert(std::string(file.name));
  for (const auto& lesson : built_in_lessons()) listed.insert("lessons/" + lesson->name + ".md");
  EXPECT_EQ(files, listed);
}

// Of eight ranks half have most heads; of a layer's forward results most are whole on every rank.
TEST(Lessons, APointThatIsRightByChanceIsFound) {
  const auto problems = [](const std::string& question) {
    const std::string text = "ask = \"?\"\n" + question + "\nbecause = \"explain(collective(1))\"";
    return check_lesson(testing::asking(text, "run = { block = \"attention\" }"), {}).problems;
  };
  const auto steps = problems("at = \"step\"\nanswer = \"steps(forward)\"");
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_THAT(steps[0].what, HasSubstr("who only guesses"));
  const auto ranks = problems("at = \"rank\"\nanswer = \"fullest_ranks()\"");
  ASSERT_EQ(ranks.size(), 1u);
  EXPECT_THAT(ranks[0].what, HasSubstr("4 of 4 places"));
  EXPECT_TRUE(problems("at = \"step\"\nanswer = \"collective(1)\"").empty());
}

TEST(Lessons, AnAnswerThatNoLongerHoldsIsFound) {
  const Lesson lesson = testing::asking(
      "ask = \"?\"\nchoices = [\"2\", \"3\"]\nanswer = \"collectives(forward)\"\nbecause = "
      "\"explain(collective(1))\"");
  const LessonCheck check = check_lesson(lesson, {});
  ASSERT_EQ(check.problems.size(), 1u);
  EXPECT_EQ(check.problems[0].where, "small.md:15");
  EXPECT_THAT(check.problems[0].what, HasSubstr("the answer is 1, and no choice reads so"));
}

TEST(Lessons, ALongSceneAndATwofoldAnswerAreFound) {
  std::string words;
  for (int i = 0; i < 61; ++i) words += "word ";
  const Lesson lesson = parse_lesson(
      testing::lesson_text(
          words + "\n" +
          testing::question_block(
              "ask = \"?\"\nchoices = [{ text = \"a\", right = \"ranks == 4\" }, { text = \"b\", right = "
              "\"ranks > 1\" }]\nbecause = \"explain(collective(1))\"")),
      "long.md");
  const LessonCheck check = check_lesson(lesson, {});
  ASSERT_EQ(check.problems.size(), 2u);
  EXPECT_THAT(check.problems[0].what, HasSubstr("2 choices are right"));
  EXPECT_THAT(check.problems[1].what, HasSubstr("61 words"));
}

TEST(Lessons, AnAnswerInTheTextAboveItsQuestionIsFound) {
  const auto checked = [](const std::string& text) {
    return check_lesson(
               parse_lesson(testing::lesson_text(
                                text + "\n" +
                                testing::question_block("ask = \"?\"\nkind = \"number\"\nanswer = "
                                                        "\"with('tp', 2, collectives(forward))\"\nbecause = "
                                                        "\"explain(collective(1))\"")),
                            "said.md"),
               {})
        .problems;
  };
  EXPECT_TRUE(checked("{{ranks}} ranks, and {{collectives(forward)}} here.\n").empty());
  for (const char* const text : {"They meet *{{with(\"tp\", 2, collectives(forward))}}* times.\n",
                                 "About {{round(with(\"tp\", 2, collectives(forward)), 1)}} times.\n"}) {
    const std::vector<LessonProblem> found = checked(text);
    ASSERT_EQ(found.size(), 1u) << text;
    EXPECT_THAT(found[0].what, HasSubstr("the answer stands in the text above"));
  }
}

TEST(Lessons, AnAnswerThatItsSceneShowsIsFound) {
  const std::string point =
      "ask = \"?\"\nat = \"step\"\nanswer = \"collective(1)\"\nbecause = \"explain(collective(1))\"";
  const std::string number =
      "ask = \"?\"\nkind = \"number\"\nanswer = \"sent_bytes()\"\nbecause = \"explain(collective(1))\"";
  const std::string tells =
      "ask = \"{{plain(1)}}?\"\nkind = \"number\"\nanswer = \"ranks\"\nbecause = \"{{sent_bytes()}}\"";
  const auto found = [](const std::string& scene, const std::string& questions) {
    const auto problems =
        check_lesson(parse_lesson(testing::lesson_text(testing::scene_block(scene) + questions), "shown.md"),
                     {})
            .problems;
    return problems.empty() ? "" : problems.front().what;
  };
  using testing::question_block;
  EXPECT_EQ(found("select = \"mlp.proj\"", question_block(point)), "");
  EXPECT_EQ(found("spotlight = [\"mlp.proj\", \"all-reduce mlp.proj.sum\"]", question_block(point)), "");
  for (const char* const scene :
       {"select = \"all-reduce mlp.proj.sum\"", "spotlight = [\"all-reduce mlp.proj.sum\"]",
        "callouts = [{ at = \"all-reduce mlp.proj.sum\", text = \"here\" }]"})
    EXPECT_THAT(found(scene, question_block(point)), HasSubstr("the scene points at the answer")) << scene;
  EXPECT_THAT(found("callouts = [{ at = \"mlp.fc\", text = \"{{sent_bytes()}}\" }]", question_block(number)),
              HasSubstr("stands in a callout"));
  EXPECT_THAT(found("", question_block(tells) + question_block(number)),
              HasSubstr("in the reason of another"));
  EXPECT_EQ(found("", question_block(number) + question_block(tells)), "") << "it was answered before";
}

TEST(Lessons, TheUsersOwnAreFoundByNameAndByFile) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "own-lessons";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "mine.md") << testing::lesson_text("Words.\n");
  std::ofstream(folder / "wrong.md") << "no lesson";
  const std::vector<LessonEntry> entries = list_lessons(folder.string());
  ASSERT_EQ(entries.size(), built_in_lessons().size() + 2);
  EXPECT_EQ(entries[entries.size() - 2].name, "mine");
  EXPECT_EQ(entries[entries.size() - 2].title, "T");
  EXPECT_THAT(entries.back().problem, HasSubstr("wrong.md:1: "));
  EXPECT_EQ(find_lesson((folder / "mine.md").string())->title, "T");
  try {
    find_lesson("colum-then-row");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean \"column-then-row\"?"));
  }
  std::filesystem::remove_all(folder);
}

std::string page_for_authors() {
  std::ifstream file(std::filesystem::path(test_data_folder()).parent_path().parent_path() /
                     "engine/lesson/README.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

// The page for authors says what the tables say, and its example is a lesson that holds.
TEST(Lessons, ThePageForAuthorsIsUpToDate) {
  const std::string page = page_for_authors();
  EXPECT_THAT(page, HasSubstr(functions_as_markdown()))
      << "put what `shardlens-cli lesson --functions` prints into it";
  EXPECT_THAT(page, HasSubstr(run_keys_as_markdown()));
  for (const StudioView& view : lesson_views()) {
    EXPECT_THAT(page, HasSubstr("`" + std::string(view.name) + "`"));
    for (const std::string& of_view : view.pages) EXPECT_THAT(page, HasSubstr("`" + of_view + "`"));
  }
  const std::string begin = "````markdown\n", end = "\n````\n";
  const size_t at = page.find(begin) + begin.size();
  const Lesson example = parse_lesson(page.substr(at, page.find(end, at) - at) + "\n", "example.md");
  const LessonCheck check = check_lesson(example, {});
  for (const LessonProblem& problem : check.problems) ADD_FAILURE() << problem.where << ": " << problem.what;
  EXPECT_EQ(check.questions, 1);
}

TEST(BuiltInLessons, HeadsSayWhatTheLessonsSay) {
  const std::vector<Lesson> heads = built_in_heads();
  ASSERT_EQ(heads.size(), built_in_lessons().size());
  for (size_t i = 0; i < heads.size(); ++i) {
    const Lesson& whole = *built_in_lessons()[i];
    EXPECT_EQ(heads[i].name, whole.name);
    EXPECT_EQ(heads[i].title, whole.title);
    EXPECT_EQ(heads[i].asks, whole.asks);
    EXPECT_TRUE(heads[i].scenes.empty());
  }
}

}  // namespace lesson_built_in_test
}  // namespace shardlens
