// Runs `lesson` as a student, a marker and an author do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/app/process.h"

namespace lesson_test {

using nlohmann::json;
using shardlens::Ended;
using shardlens::run_cli;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string file_with(const std::string& text) {
  const std::string path = ::testing::TempDir() + "lesson_answers_" + std::to_string(getpid()) + ".json";
  std::ofstream(path) << text;
  return path;
}

TEST(CliLesson, ListsTheBuiltInLessons) {
  const Ended ended = run_cli("lesson list --json");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const json lessons = json::parse(ended.out)["lessons"];
  EXPECT_EQ(lessons.size(), 9u);
  EXPECT_EQ(lessons[0]["name"], "the-memory-wall") << "in the order in which they build on each other";
  EXPECT_EQ(run_cli("lesson list").code, 0);
}

// A sheet is answered from nothing but what it says, marked at its seed, and wrong at another.
TEST(CliLesson, ASheetIsDrawnAnsweredAndMarked) {
  const Ended sheet = run_cli("lesson column-then-row --questions --seed 20231142 --json");
  ASSERT_EQ(sheet.code, 0) << sheet.err;
  const json questions = json::parse(sheet.out);
  EXPECT_EQ(questions["lesson"], "column-then-row");
  EXPECT_EQ(questions["seed"], 20231142);
  for (const json& one : questions["questions"])
    for (const auto& [key, value] : one.items())
      EXPECT_THAT((std::vector<std::string>{"id", "kind", "ask", "choices", "unit"}),
                  ::testing::Contains(key));
  // The marks say what is right, so a second try with those answers has every point.
  const std::string none = file_with("{\"answers\": {}}");
  const Ended first = run_cli("lesson column-then-row --seed 20231142 --json --answers " + none);
  EXPECT_EQ(first.code, 1);
  const json marks = json::parse(first.out);
  EXPECT_EQ(marks["points"], 0);
  EXPECT_EQ(marks["of"], questions["questions"].size());
  json answers = json::object();
  for (size_t i = 0; i < marks["questions"].size(); ++i) {
    const json& mark = marks["questions"][i];
    EXPECT_TRUE(mark["answered"].is_null());
    const std::string kind = questions["questions"][i]["kind"], correct = mark["correct"];
    if (kind == "order")
      answers[mark["id"].get<std::string>()] = {"mlp.fc", "mlp.gelu", "mlp.proj"};
    else if (kind == "cut")
      answers[mark["id"].get<std::string>()] = {{"mlp.fc", "column"}, {"mlp.proj", "row"}};
    else
      answers[mark["id"].get<std::string>()] = correct;
  }
  const std::string all = file_with(json{{"answers", answers}}.dump());
  const Ended second = run_cli("lesson column-then-row --seed 20231142 --answers " + all);
  EXPECT_EQ(second.code, 0) << second.out << second.err;
  EXPECT_EQ(run_cli("lesson column-then-row --seed 4 --answers " + all).code, 1);
  const Ended gradescope = run_cli("lesson column-then-row --seed 20231142 --gradescope --answers " + all);
  EXPECT_EQ(json::parse(gradescope.out)["score"], marks["of"]);
}

TEST(CliLesson, AllThatIsRightIsListed) {
  const Ended ended = run_cli("lesson heads --check --answers");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out,
              AllOf(HasSubstr("accepted: \"all-reduce attn.proj.sum\","), HasSubstr("\"all-reduce(O)\"")));
  EXPECT_THAT(ended.out, HasSubstr("must hold: "));
  const Ended as_json = run_cli("lesson heads --check --answers --json");
  EXPECT_EQ(json::parse(as_json.out)["answers"].size(), 10u);
  const Ended alone = run_cli("lesson column-then-row --answers");
  EXPECT_EQ(alone.code, 2);
  EXPECT_THAT(alone.err, HasSubstr("--check --answers lists what is right"));
}

TEST(CliLesson, WhatCannotBeReadEndsWithTwoAndARemedy) {
  for (const auto& [text, message] :
       std::vector<std::pair<std::string, std::string>>{{"", "json"},
                                                        {"[1]", "expected an object"},
                                                        {"{\"answer\": {}}", "answers"},
                                                        {"{\"answers\": {\"a\": 1e999}}", "number"},
                                                        {"{\"answers\": {}, \"answers\": {}}", "twice"}}) {
    const Ended ended = run_cli("lesson column-then-row --answers " + file_with(text));
    EXPECT_EQ(ended.code, 2) << text;
    EXPECT_THAT(ended.err, HasSubstr(message)) << text;
  }
  EXPECT_EQ(run_cli("lesson column-then-row --answers /nowhere.json").code, 2);
  EXPECT_THAT(run_cli("lesson colum-then-row --check").err, HasSubstr("did you mean \"column-then-row\"?"));
  EXPECT_THAT(run_cli("lesson column-then-row").err, HasSubstr("--questions"));
  EXPECT_EQ(run_cli("lesson column-then-row").code, 2);
}

// What is on stdout is all that a student sees there.
TEST(CliLesson, GradescopeIsToldWhyNothingWasMarked) {
  for (const std::string text :
       {"", "[1]", "{\"answers\": [1]}", "{\"answers\": {}, \"lesson\": \"heads\"}"}) {
    const Ended ended = run_cli("lesson column-then-row --gradescope --answers " + file_with(text));
    EXPECT_EQ(ended.code, 2) << text;
    const json marks = json::parse(ended.out, nullptr, false);
    ASSERT_TRUE(marks.is_object()) << text << ": " << ended.out;
    EXPECT_EQ(marks["score"], 0);
    EXPECT_THAT(ended.err, HasSubstr("lesson_answers_"));
    EXPECT_THAT(marks["output"].get<std::string>(), HasSubstr("lesson_answers_"));
  }
  const Ended nowhere = run_cli("lesson column-then-row --gradescope --answers /nowhere.json");
  EXPECT_THAT(nowhere.out, HasSubstr("/nowhere.json"));
}

TEST(CliLesson, AWrongAnswerAndAnExtraOneAreNamed) {
  const Ended ended =
      run_cli("lesson column-then-row --answers " +
              file_with("{\"answers\": {\"two-matrices/1\": \"many\", \"two-matrices/2\": 1}}"));
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.out, HasSubstr("is no number"));
  EXPECT_THAT(ended.err, HasSubstr("did you mean \"two-matrices/1\"?"));
}

TEST(CliLesson, AnAuthorsFileIsChecked) {
  const std::string path = ::testing::TempDir() + "authors_lesson.md";
  std::ofstream(path)
      << "+++\ntitle = \"T\"\nasks = \"?\"\nminutes = 5\n+++\n## A\n{{colectives(forward)}}\n";
  const Ended ended = run_cli("lesson " + path + " --check");
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("authors_lesson.md:7: "));
  EXPECT_THAT(ended.err, HasSubstr("did you mean `collectives`?"));
}

}  // namespace lesson_test
