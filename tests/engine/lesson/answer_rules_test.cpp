// What authors can say of answers: several right ones, hints, ties; and how the items of an order are shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "engine/base/error.h"
#include "engine/lesson/answer_key.h"
#include "engine/lesson/check.h"
#include "engine/lesson/marking.h"
#include "tests/engine/lesson/handout_script.h"
#include "tests/engine/lesson/small_lesson.h"

namespace shardlens {
namespace lesson_answer_rules_test {

using nlohmann::json;
using testing::asking;
using ::testing::ElementsAre;
using testing::expect_same_in_script;
using ::testing::HasSubstr;
using testing::kBecause;
using testing::right_of;
using testing::Said;

TEST(AnswerRules, EqualItemsOfAnOrderMayStandInAnyOrder) {
  const std::string items = "items = [\"mlp.fc.weight\", \"mlp.proj.weight\", \"mlp.fc.bias\"]\nanswer = ";
  const Lesson lesson = asking("ask = \"?\"\n" + items +
                               "\"by_size('mlp.fc.bias', 'mlp.fc.weight', 'mlp.proj.weight')\"" + kBecause);
  const RightAnswer right = right_of(lesson);
  EXPECT_EQ(right.text,
            "Wfc (mlp.fc.weight) = Wproj (mlp.proj.weight), b (mlp.fc.bias) (equal ones in any order)");
  const std::vector<Said> all = {{right.key, {"mlp.fc.weight", "mlp.proj.weight", "mlp.fc.bias"}},
                                 {right.key, {"mlp.proj.weight", "mlp.fc.weight", "mlp.fc.bias"}},
                                 {right.key, {"mlp.proj.weight", "mlp.fc.bias", "mlp.fc.weight"}}};
  EXPECT_TRUE(judge(*right.key, all[0].given).right);
  EXPECT_TRUE(judge(*right.key, all[1].given).right);
  EXPECT_FALSE(judge(*right.key, all[2].given).right);
  expect_same_in_script(all);
}

TEST(AnswerRules, AnOrderWhoseItemsAreAllEqualIsRefused) {
  const LessonCheck check = check_lesson(asking("ask = \"?\"\nitems = [\"mlp.fc.weight\", "
                                                "\"mlp.proj.weight\"]\nanswer = \"by_size('mlp.fc.weight', "
                                                "'mlp.proj.weight')\"" +
                                                kBecause),
                                         {});
  ASSERT_EQ(check.problems.size(), 1u);
  EXPECT_EQ(check.problems[0].where, "small.md:15");
  EXPECT_THAT(check.problems[0].what, HasSubstr("every order is right"));
}

TEST(AnswerRules, ItemsAreShuffledBySeedAndNeverInARightOrder) {
  const auto shown = [](const std::string& items, uint64_t seed) {
    const Lesson lesson = asking("ask = \"?\"\nitems = [" + items +
                                 "]\nanswer = \"in_order('mlp.gelu', 'mlp.fc', "
                                 "'mlp.proj', 'Y')\"" +
                                 kBecause);
    LessonRun run(lesson, seed);
    const std::vector<std::string> seen = run.show(lesson.scenes[0], lesson.scenes[0].questions[0]).items;
    EXPECT_EQ(questions_as_json(run)["questions"][0]["choices"], json(seen));
    return seen;
  };
  std::set<std::vector<std::string>> orders;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const auto one = shown("\"mlp.fc\", \"mlp.gelu\", \"mlp.proj\", \"Y\"", seed);
    EXPECT_EQ(one, shown("\"Y\", \"mlp.proj\", \"mlp.gelu\", \"mlp.fc\"", seed))
        << "the file's order tells nothing";
    EXPECT_NE(one, (std::vector<std::string>{"mlp.fc", "mlp.gelu", "mlp.proj", "Y"}));
    orders.insert(one);
  }
  EXPECT_GT(orders.size(), 12u);
}

TEST(AnswerRules, AnyOfSeveralAnswersIsRight) {
  const auto judged = [](const std::string& question, const json& given) {
    return judge(*right_of(asking(question + kBecause)).key, given).right;
  };
  const std::string number = "ask = \"?\"\nkind = \"number\"\nanswer = [\"ranks\", \"2 * ranks\"]";
  EXPECT_TRUE(judged(number, 4) && judged(number, "8"));
  EXPECT_FALSE(judged(number, 6));
  const std::string choice =
      "ask = \"?\"\nchoices = [\"3\", \"4\", \"8\"]\nanswer = [\"ranks\", \"2 * ranks\"]";
  EXPECT_TRUE(judged(choice, "4") && judged(choice, "8"));
  EXPECT_FALSE(judged(choice, "3"));
  const std::string point =
      "ask = \"?\"\nat = \"step\"\nanswer = [\"output('mlp.fc')\", \"writer('mlp.gelu')\"]";
  EXPECT_TRUE(judged(point, "mlp.fc") && judged(point, "mlp.gelu"));
  EXPECT_FALSE(judged(point, "mlp.proj"));
  EXPECT_TRUE(check_lesson(asking(number + kBecause), {}).holds());
  EXPECT_TRUE(check_lesson(asking(choice + kBecause), {}).holds());
}

TEST(AnswerRules, AHintIsSaidToItsWrongAnswerOnly) {
  const std::string hints =
      "\nhints = [{ at = \"2 * ranks\", text = \"That is for {{2 * ranks}} ranks.\" }, { at = \"1\", text = "
      "\"One?\" "
      "}]";
  const auto key =
      right_of(asking("ask = \"?\"\nkind = \"number\"\nanswer = \"ranks\"" + hints + kBecause)).key;
  const auto choice =
      right_of(asking("ask = \"?\"\nchoices = [\"1\", \"4\", \"8\", \"9\"]\nanswer = \"ranks\"" + hints +
                      kBecause))
          .key;
  const auto point =
      right_of(asking("ask = \"?\"\nat = \"step\"\nanswer = \"collective(1)\"\nhints = [{ at = "
                      "\"'mlp.proj'\", text = \"It leaves terms.\" }]" +
                      kBecause))
          .key;
  const auto order =
      right_of(
          asking("ask = \"?\"\nitems = [\"mlp.fc\", \"mlp.gelu\", \"mlp.proj\"]\nanswer = "
                 "\"in_order('mlp.fc', 'mlp.gelu', 'mlp.proj')\"\nhints = [{ at = \"'mlp.proj'\", text = "
                 "\"It reads G.\" }]" +
                 kBecause))
          .key;
  const std::vector<Said> all = {{key, "8"},
                                 {key, "1"},
                                 {key, "4"},
                                 {key, "9"},
                                 {choice, "8"},
                                 {choice, "9"},
                                 {point, "mlp.proj"},
                                 {point, "mlp.fc"},
                                 {order, {"mlp.fc", "mlp.proj", "mlp.gelu"}},
                                 {order, {"mlp.proj", "mlp.fc", "mlp.gelu"}},
                                 {order, {"mlp.gelu", "mlp.proj", "mlp.fc"}},
                                 {order, {"mlp.fc", "mlp.gelu", "mlp.proj"}}};
  std::vector<std::string> said;
  for (const Said& one : all) said.push_back(judge(*one.key, one.given).hint);
  EXPECT_THAT(said, ElementsAre("That is for 8 ranks.", "One?", "", "", "That is for 8 ranks.", "",
                                "It leaves terms.", "", "It reads G.", "It reads G.", "", ""));
  expect_same_in_script(all);
}

TEST(AnswerRules, AHintForARightAnswerOrForNothingIsFound) {
  const auto problem = [](const std::string& question) {
    const LessonCheck check = check_lesson(asking(question + kBecause), {});
    return check.problems.empty() ? "" : check.problems[0].where + ": " + check.problems[0].what;
  };
  EXPECT_THAT(
      problem(
          "ask = \"?\"\nkind = \"number\"\nanswer = \"ranks\"\nhints = [{ at = \"2 + 2\", text = \"No.\" }]"),
      HasSubstr("small.md:18: the hint is for 4, which is right"));
  EXPECT_THAT(
      problem("ask = \"?\"\nat = \"step\"\nanswer = \"collective(1)\"\nhints = [{ at = \"'mlp.proj.sum'\", "
              "text = \"No.\" }]"),
      HasSubstr("which is right"));
  EXPECT_THAT(
      problem("ask = \"?\"\nchoices = [\"4\", \"8\"]\nanswer = \"ranks\"\nhints = [{ at = \"9\", text = "
              "\"No.\" }]"),
      HasSubstr("small.md:18: the hint is 9, and no choice reads so"));
  const auto of_order = [](const char* item) {
    return std::string(
               "ask = \"?\"\nitems = [\"mlp.fc\", \"mlp.proj\"]\nanswer = \"in_order('mlp.fc', "
               "'mlp.proj')\"\nhints = [{ at = \"'") +
           item + "'\", text = \"No.\" }]";
  };
  EXPECT_EQ(problem(of_order("mlp.proj")), "");
  EXPECT_THAT(problem(of_order("mlp.fc")), HasSubstr("which is right")) << "it is never too early";
  EXPECT_THAT(problem(of_order("mlp.gelu")), HasSubstr("which is no item of the order"));
  const auto refused = [](const std::string& question) {
    try {
      asking(question + kBecause);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(
      refused(
          "ask = \"?\"\nkind = \"cut\"\nanswer = \"ranks == 4\"\nhints = [{ at = \"9\", text = \"No.\" }]"),
      HasSubstr("small.md:18: the question, `hints`: are for questions"));
  EXPECT_THAT(refused("ask = \"?\"\nkind = \"number\"\nanswer = \"ranks\"\nhints = [{ at = \"9\" }]"),
              HasSubstr("text"));
  EXPECT_THAT(refused("ask = \"?\"\nkind = \"number\"\nanswer = [\"ranks\", \"4\"]"), HasSubstr("typed in"));
}

}  // namespace lesson_answer_rules_test
}  // namespace shardlens
