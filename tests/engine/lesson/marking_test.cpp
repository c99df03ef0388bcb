// Answers are marked by what a plan or a run gives, whatever the answers file holds.
#include "engine/lesson/marking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/io/json.h"
#include "engine/lesson/run_keys.h"
#include "tests/engine/lesson/small_lesson.h"

namespace shardlens {
namespace lesson_marking_test {

using nlohmann::json;
using testing::asking;
using ::testing::HasSubstr;
using testing::kBecause;
using testing::kHead;
using testing::lesson_text;
using testing::question_block;

Marked marked(const Lesson& lesson, const json& answer) {
  LessonRun run(lesson, {});
  return run.mark(lesson.scenes[0], lesson.scenes[0].questions[0], answer);
}

struct Answer {
  json given;
  bool right;
  std::string message;  ///< empty: there is none
};

void expect_marks(const std::string& question, const std::vector<Answer>& answers,
                  const std::string& scene = "") {
  const Lesson lesson = asking(question + kBecause, scene);
  for (const Answer& one : answers) {
    const Marked mark = marked(lesson, one.given);
    EXPECT_EQ(mark.right, one.right) << one.given << ": " << mark.message;
    EXPECT_EQ(mark.points, one.right ? 1 : 0);
    EXPECT_EQ(mark.of, 1);
    if (one.message.empty())
      EXPECT_EQ(mark.message, "") << one.given;
    else
      EXPECT_THAT(mark.message, HasSubstr(one.message)) << one.given;
    EXPECT_NE(mark.correct, "");
    EXPECT_NE(mark.because, "");
  }
}

const json kHuge = json::parse("1e308");

TEST(LessonMarking, AChoiceByItsWords) {
  expect_marks(
      "ask = \"?\"\nchoices = [\"0\", \"1\", \"2\", \"{{ranks}}\"]\nanswer = \"collectives(forward)\"",
      {{"1", true, ""},
       {"2", false, ""},
       {"4", false, ""},
       {1, true, ""},
       {"one", false, "is none of the choices"},
       {std::string(100'000, '1'), false, "is none of the choices"},
       {json::array({"1"}), false, "must be the words"},
       {nullptr, false, "not answered"}});
}

TEST(LessonMarking, AChoiceThatSaysItselfWhetherItIsRight) {
  expect_marks(
      "ask = \"?\"\nchoices = [{ text = \"once\", right = \"collectives(forward) == 1\" }, { text = "
      "\"twice\", right = "
      "\"collectives(forward) == 2\" }]",
      {{"once", true, ""}, {"twice", false, ""}});
}

TEST(LessonMarking, ANumberWithUnitAndTolerance) {
  // 8 x 96 fp32 numbers; each of four ranks sends 2 * 3/4 of them.
  const double kib = 8 * 96 * 4 * 1.5 / 1024;
  expect_marks("ask = \"?\"\nunit = \"KiB\"\ntolerance = 0.01\nanswer = \"sent_bytes(forward)\"",
               {{kib, true, ""},
                {kib * 1.009, true, ""},
                {kib * 1.011, false, ""},
                {kib * 1024, false, ""},
                {-kib, false, ""},
                {kHuge, false, ""},
                {"4.5", true, ""},
                {"4,5 kib", true, ""},
                {"4608 bytes", true, ""},
                {"four", false, "is no number"},
                {"4.5 ms", false, "has the unit \"ms\": write the number in KiB"},
                {true, false, "must be a number"},
                {json::object(), false, "must be a number"}});
}

TEST(LessonMarking, ARightNumberHasAsManyDigitsAsItsToleranceAsksFor) {
  const auto correct = [](const std::string& tolerance) {
    return marked(asking("ask = \"?\"\nkind = \"number\"\n" + tolerance + "answer = \"4.0 * ranks / 7\"" +
                         kBecause),
                  1)
        .correct;
  };
  EXPECT_EQ(correct(""), "2.28571");
  EXPECT_EQ(correct("tolerance = 0.01\n"), "2.29");
}

TEST(LessonMarking, APointByName) {
  expect_marks("ask = \"?\"\nat = \"step\"\nanswer = \"collective(1)\"",
               {{"all-reduce mlp.proj.sum", true, ""},
                {"mlp.proj.sum", true, ""},  // the tensor that it writes
                {"mlp.proj", false, ""},
                {"mlp.prj", false, "did you mean"},
                {std::string(5'000, 'x'), false, "unknown step"},
                {"All-Reduce Z", true, ""},
                {"Z = G*Wproj", false, ""},
                {"Z", false, "names mlp.proj, all-reduce mlp.proj.sum: say which"},
                {7, false, "unknown step"},
                {json::array(), false, "must be a name"}});
  expect_marks("ask = \"?\"\nat = \"rank\"\nanswer = \"ranks - 1\"",
               {{3, true, ""},
                {"rank 3", true, ""},
                {2, false, ""},
                {4, false, "from 0 to 3"},
                {-1, false, "from 0 to 3"},
                {json::parse("18446744073709551615"), false, "from 0 to 3"},
                {2.5, false, "from 0 to 3"}});
  expect_marks("ask = \"?\"\nat = \"tensor\"\nanswer = \"tensors('Partial', forward)\"",
               {{"mlp.proj.sum@partial", true, ""}, {"mlp.fc.out", false, ""}});
}

TEST(LessonMarking, AnOrderAsAList) {
  expect_marks(
      "ask = \"?\"\nitems = [\"mlp.proj\", \"mlp.fc\", \"mlp.gelu\"]\nanswer = \"in_order('mlp.gelu', "
      "'mlp.fc', 'mlp.proj')\"",
      {{{"mlp.fc", "mlp.gelu", "mlp.proj"}, true, ""},
       {{"mlp.gelu", "mlp.fc", "mlp.proj"}, false, ""},
       {{"mlp.fc", "mlp.gelu"}, false, "each of these once"},
       {{"mlp.fc", "mlp.fc", "mlp.proj"}, false, "each of these once"},
       {std::vector<std::string>(100'000, "mlp.fc"), false, "each of these once"},
       {{"H = X Wfc + b", "gelu", "MLP.proj"}, true, ""},
       {{1, 2, 3}, false, "a list of names"},
       {"mlp.fc", false, "must be a list"}});
}

TEST(LessonMarking, ACutIsPlannedAndRun) {
  expect_marks(
      "ask = \"?\"\nkind = \"cut\"\nanswer = \"collectives(forward) == 1 and local_bytes('mlp.fc.weight') < "
      "tensor_bytes('mlp.fc.weight')\"",
      {{{{"mlp.fc", "column"}, {"mlp.proj", "row"}}, true, ""},
       {json::object(), true, ""},  // as in a split file, what is left out is cut as in megatron
       {{{"mlp.fc", "replicated"}, {"mlp.proj", "row"}},
        false,
        "`local_bytes(\"mlp.fc.weight\") < tensor_bytes(\"mlp.fc.weight\")` does not hold"},
       {{{"mlp.fc", "row"}, {"mlp.proj", "column"}}, false, "`collectives(forward) == 1` does not hold"},
       {{{"mlp.fc", "colum"}}, false, "did you mean \"column\"?"},
       {{{"mlp.fcc", "column"}}, false, "did you mean \"mlp.fc\"?"},
       {{{"mlp.fc", 7}}, false, "mlp.fc"},
       {"megatron", false, "must be an object"}});
}

TEST(LessonMarking, AWrongCutIsToldWhichConditionFailedInTheLessonsWords) {
  expect_marks(
      "ask = \"?\"\nkind = \"cut\"\nanswer = [{ right = \"collectives(forward) == 1\", wrong = \"the ranks "
      "meet "
      "{{collectives(forward)}} times\" }, { right = \"local_bytes('mlp.fc.weight') < "
      "tensor_bytes('mlp.fc.weight')\", wrong = \"mlp.fc is {{layout('mlp.fc.weight')}}\" }]",
      {{{{"mlp.fc", "column"}, {"mlp.proj", "row"}}, true, ""},
       {{{"mlp.fc", "replicated"}, {"mlp.proj", "row"}}, false, "mlp.fc is Replicated"},
       {{{"mlp.fc", "row"}, {"mlp.proj", "row"}}, false, "the ranks meet 2 times"}});
}

TEST(LessonMarking, AFileIsMarkedQuestionByQuestion) {
  const std::string question = std::string("ask = \"?\"\nunit = \"\"\nanswer = \"ranks\"") + kBecause;
  const Lesson lesson = parse_lesson(
      lesson_text(question_block(question) + question_block(question + "\npoints = 2")), "two.md");
  LessonRun run(lesson, {});
  const Marks marks = run.mark(json{{"answers", {{"a-scene/1", 4}, {"a-scene/3", 5}, {"x", 1}}}}, "file");
  EXPECT_EQ(marks.points, 1);
  EXPECT_EQ(marks.of, 3);
  EXPECT_FALSE(marks.all_right());
  EXPECT_EQ(marks.questions[1].message, "not answered");
  ASSERT_EQ(marks.messages.size(), 2u);
  EXPECT_THAT(marks.messages[0], HasSubstr("did you mean \"a-scene/1\"?"));
  const auto as_json = marks_as_json(marks);
  EXPECT_EQ(as_json.dump().find("{\"points\":1.0,\"of\":3.0,\"questions\":[{\"id\":\"a-scene/"
                                "1\",\"answered\":\"4\",\"right\":true,\"correct\":\"4\",\"because\":"),
            0u)
      << as_json.dump();
  EXPECT_TRUE(as_json["questions"][1]["answered"].is_null());
  const auto gradescope = marks_for_gradescope(marks);
  EXPECT_EQ(gradescope["score"], 1);
  EXPECT_EQ(gradescope["tests"][1]["max_score"], 2);
  EXPECT_TRUE(run.mark(json{{"answers", {{"a-scene/1", 4}, {"a-scene/2", 4}}}}, "file").all_right());
}

TEST(LessonMarking, WhatIsNoAnswersFileIsRefused) {
  const Lesson lesson = asking(std::string("ask = \"?\"\nunit = \"\"\nanswer = \"ranks\"") + kBecause);
  LessonRun run(lesson, {});
  for (const char* text : {"[]", "{}", "4", "{\"answers\": []}", "{\"answers\": null}",
                           "{\"answers\": {}, \"marks\": 10}", "{\"answers\": {}, \"lesson\": \"another\"}"})
    EXPECT_THROW(run.mark(json::parse(text), "file"), Error) << text;
}

TEST(LessonMarking, QuestionsNeverHoldAnAnswer) {
  const Lesson lesson = asking(
      std::string("ask = \"Of {{ranks}}?\"\nunit = \"KiB\"\nanswer = \"sent_bytes(forward)\"") + kBecause);
  LessonRun run(lesson, 7);
  const auto questions = questions_as_json(run);
  EXPECT_EQ(questions.dump(),
            "{\"lesson\":\"small\",\"seed\":7,\"questions\":[{\"id\":\"a-scene/"
            "1\",\"kind\":\"number\",\"ask\":\"Of 4?\",\"unit\":\"KiB\"}]}");
}

TEST(LessonDraw, ASeedDrawsTheSameEverywhereAndOnlyWhatRuns) {
  const std::string head =
      "+++\ntitle = \"T\"\nasks = \"?\"\nminutes = 5\n[run]\nhidden = 96\nheads = 12\nseq = 8\n[draw]\n"
      "tp = [2, 3, 4, 5, 6]\nmatrix = [\"mlp.fc\", \"mlp.proj\"]\n+++\n";
  const Lesson lesson = parse_lesson(
      lesson_text(question_block(std::string("ask = \"Bytes of {{matrix}}?\"\nunit = \"bytes\"\nanswer = "
                                             "\"local_bytes(matrix + '.weight')\"") +
                                 kBecause),
                  head),
      "draw.md");
  std::set<std::string> sheets;
  std::map<int, int> drawn;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    LessonRun run(lesson, seed), again(lesson, seed);
    const Settings settings = settings_of(lesson, run.drawn());
    EXPECT_EQ(settings, settings_of(lesson, again.drawn()));
    ++drawn[settings.tp];
    sheets.insert(run.show(lesson.scenes[0]).questions[0].ask + std::to_string(settings.tp));
  }
  EXPECT_EQ(drawn.size(), 4u);
  EXPECT_EQ(drawn.count(5), 0u) << "12 heads cannot be shared by 5 ranks";
  EXPECT_EQ(sheets.size(), 8u);
  for (const auto& [tp, times] : drawn) EXPECT_GT(times, 25) << tp;
  // Fixed for ever: who marks must draw what the student's machine drew.
  EXPECT_EQ(settings_of(lesson, LessonRun(lesson, 20231142).drawn()).tp, 2);
}

}  // namespace lesson_marking_test
}  // namespace shardlens
