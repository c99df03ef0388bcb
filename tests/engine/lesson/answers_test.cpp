// One grammar of answers: the engine and a handout's script accept the same words, and those on the screen
// first.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "engine/lesson/answer_key.h"
#include "engine/lesson/built_in.h"
#include "engine/lesson/functions.h"
#include "engine/lesson/marking.h"
#include "engine/lesson/written_answer.h"
#include "tests/engine/lesson/built_in_names.h"
#include "tests/engine/lesson/handout_script.h"
#include "tests/engine/lesson/small_lesson.h"

namespace shardlens {
namespace lesson_answers_test {

using nlohmann::json;
using testing::asking;
using ::testing::ElementsAre;
using testing::expect_same_in_script;
using ::testing::HasSubstr;
using testing::kBecause;
using testing::right_of;
using testing::Said;

/// What pages show of a step: the Program's list, the Stage's rows and bands, a card.
std::vector<std::string> words_on_screen(const Program& program, const Step& step) {
  std::vector<std::string> words{step.name, with_equation(program, step.name)};
  if (!step.equation.empty()) words.push_back(step.equation);
  // "all-reduce O"; also where a planted mistake leaves it out, and the operation is another.
  if (is_conversion(step.op))
    words.push_back(step.name.substr(0, step.name.find(' ')) + " " + converted_words(program, step));
  return words;
}

class AnswersOf : public ::testing::TestWithParam<std::string> {};

// A word on the screen names what it stands beside, alone or with others that the same word stands beside.
TEST_P(AnswersOf, EveryWordOnTheScreenIsKnownAndJudgedAlike) {
  const auto lesson = find_lesson(GetParam());
  LessonRun run(*lesson, {});
  std::vector<Said> all;
  for (const Scene& scene : lesson->scenes)
    for (const Question& question : scene.questions) {
      if (question.kind == QuestionKind::Cut) continue;
      const auto key = run.right_answer(scene, question).key;
      // A step's words name the value that it writes.
      const auto expect_value = [&](const Program& program, const std::string& word, const Step& step) {
        const std::vector<int> named = named_candidates(*key, word);
        // Its own letter counts first: "Wpe" is a table, and wpe the step that reads it.
        const bool is_letter =
            std::any_of(program.tensors.begin(), program.tensors.end(), [&](const Tensor& one) {
              return plain_words(one.name) == plain_words(word) ||
                     plain_words(one.symbol) == plain_words(word);
            });
        EXPECT_TRUE(is_letter || step.outputs.empty() ||
                    std::any_of(named.begin(), named.end(),
                                [&](int one) {
                                  return program.tensor(one).value ==
                                         program.tensor(step.outputs.front()).value;
                                }))
            << question.id << ": \"" << word << "\" writes " << program.tensor(step.outputs.front()).name;
        all.push_back({key, word});
      };
      const auto expect_names = [&](const std::string& word, const std::string& name) {
        const std::vector<int> named = named_candidates(*key, word);
        const bool is_named = std::any_of(named.begin(), named.end(), [&](int one) {
          return key->candidates[static_cast<size_t>(one)].name == name;
        });
        EXPECT_TRUE(is_named) << question.id << ": \"" << word << "\" stands for " << name;
        all.push_back({key, word});
        for (const std::string& loose : {lower_case(word), " " + word + "  "}) all.push_back({key, loose});
      };
      if (question.kind == QuestionKind::Point) {
        const Program& program = run.evidence_of(scene.state)->program();
        if (question.at == PointAt::Step)
          for (const Step& step : program.steps)
            for (const std::string& word : words_on_screen(program, step)) expect_names(word, step.name);
        if (question.at == PointAt::Tensor)
          for (const Tensor& tensor : program.tensors) {
            expect_names(tensor.name, tensor.name);
            expect_names(with_equation(program, tensor.name), tensor.name);
            all.push_back({key, tensor.symbol});
          }
        if (question.at == PointAt::Tensor)
          for (const Step& step : program.steps)
            for (const std::string& word : words_on_screen(program, step)) expect_value(program, word, step);
        for (const char* const word : {"mlp.prj", "all-reduse", "rank 0", "0", "none of these"})
          all.push_back({key, word});
      } else if (question.kind == QuestionKind::Choice) {
        for (const AnswerKey::Candidate& one : key->candidates) expect_names(one.name, one.name);
      } else if (question.kind == QuestionKind::Number) {
        for (const double number : key->numbers)
          for (const std::string& word :
               {fmt::format("{}", number), fmt::format("{:.3g} {}", number, key->unit),
                fmt::format("{:.2e}", number), fmt::format("{} KiB", number * 3 + 1)})
            all.push_back({key, word});
      } else {
        const RightAnswer right = run.right_answer(scene, question);
        all.push_back({key, right.accepted});
        all.push_back({key, run.show(scene, question).items});
      }
    }
  expect_same_in_script(all);
}

INSTANTIATE_TEST_SUITE_P(BuiltIn, AnswersOf, ::testing::ValuesIn(testing::built_in_names()),
                         testing::test_name);

TEST(Answers, NumbersAreReadAsPeopleWriteThem) {
  const auto read = [](const std::string& words) {
    const auto number = written_number(words);
    return number
               ? fmt::format("{} {} {} '{}'", number->value, number->decimals, number->digits, number->unit)
               : std::string("none");
  };
  EXPECT_EQ(read("1,024"), "1024 0 4 ''");
  EXPECT_EQ(read("1 024"), "1024 0 4 ''");
  EXPECT_EQ(read("1234,567"), "1234.567 3 7 ''");
  EXPECT_EQ(read("0,125"), "0.125 3 3 ''");
  EXPECT_EQ(read("-0.50 KiB"), "-0.5 2 2 'kib'");
  EXPECT_EQ(read("\u22122"), "-2 0 1 ''");
  EXPECT_EQ(read("2.36e6 bytes"), "2360000 -4 3 'bytes'");
  EXPECT_EQ(read("25 %"), "25 0 2 '%'");
  for (const char* const words : {"", ".", "-", "two", "1,2,3", "1,024,00", "1e999", "4 5x 6", "x2", "e5"})
    EXPECT_EQ(read(words), "none") << words;
}

// The same words through the engine and through the script.
TEST(Answers, ATableOfWordsIsReadAlikeEverywhere) {
  const auto key_of = [](const std::string& question) { return right_of(asking(question + kBecause)).key; };
  const auto kib = key_of("ask = \"?\"\nunit = \"KiB\"\nanswer = \"sent_bytes(forward)\"");  // 4.5
  const auto count = key_of("ask = \"?\"\nkind = \"number\"\nanswer = \"ranks * 256\"");     // 1024
  const auto third = key_of("ask = \"?\"\nunit = \"times\"\nanswer = \"ranks / 7\"");        // 0.571428…
  const auto choice = key_of(
      "ask = \"?\"\nchoices = [\"1.8 times\", \"2 times\", \"{{ranks}} times\"]\nanswer = \"ranks / 2.2\"");
  std::vector<Said> all;
  const auto expect = [&](const auto& key, const std::string& words, bool right) {
    const Judged judged = judge(*key, words);
    EXPECT_EQ(judged.right, right) << words << ": " << judged.problem;
    all.push_back({key, words});
  };
  for (const char* const words :
       {"4.5", "4,5", "4.50 KiB", "4.5kib", "4608 bytes", "4,608 bytes", "4.61 kB", "+4.5"})
    expect(kib, words, true);
  for (const char* const words : {"4.4", "4.5 MiB", "4608", "4.5 ms", "-4.5", "4 . 5 . 1", "", "4.5 parsec"})
    expect(kib, words, false);
  for (const char* const words : {"1024", "1,024", "1 024", "1.024e3", "1024.0", "1024 ranks"})
    expect(count, words, true);
  for (const char* const words : {"1023", "1,0240", "1.024", "1024 s", "1e999", "0x400"})
    expect(count, words, false);
  // What a page shows of 0.5714285… has three digits.
  for (const char* const words : {"0.571", "0.5714", "0.571428571428", "0,571", "57.1 %", "0.571 x"})
    expect(third, words, true);
  for (const char* const words : {"0.57", "0.572", "0.5715", "57 %", "0.571 ranks"})
    expect(third, words, false);
  for (const char* const words : {"1.8 times", "1.8", "1,8", "1.80", "1.8x", "1.8 Times"})
    expect(choice, words, true);
  for (const char* const words : {"2 times", "2", "1.9", "4", "1.8 ms", "many"}) expect(choice, words, false);
  expect_same_in_script(all);
}

// A figure that a page shows as 1.8 is said by the choice "1.8 times", and not by "2 times".
TEST(Answers, AChoiceSaysAValueAsAReaderSeesIt) {
  const auto right = [](const std::string& choices, const std::string& answer) {
    return right_of(asking("ask = \"?\"\nchoices = " + choices + "\nanswer = \"" + answer + "\"" + kBecause))
        .accepted;
  };
  EXPECT_THAT(right("[\"1.8 times\", \"2 times\"]", "1.8 * ranks / ranks"), ElementsAre("1.8 times"));
  EXPECT_THAT(right("[\"1.8 times\", \"2 times\"]", "ranks / 2.2"), ElementsAre("1.8 times"));
  EXPECT_THAT(right("[\"2 times\", \"4 times\"]", "ranks"), ElementsAre("4 times"));
  EXPECT_THAT(right("[\"1.8\", \"1.82\"]", "ranks / 2.2"), ElementsAre("1.82"));
  EXPECT_THAT(right("[\"4.5 KiB\", \"9 KiB\"]", "sent_bytes(forward)"), ElementsAre("4.5 KiB"));
  EXPECT_THAT(right("[\"25 %\", \"50 %\"]", "1 / ranks"), ElementsAre("25 %"));
  EXPECT_THROW(right("[\"2\", \"3\"]", "ranks / 2.2"), Error) << "2 is another number";
}

// A letter stands for a value in all its layouts; the step that writes a tensor names it, and is named by it.
TEST(Answers, StepsAndTensorsNameEachOther) {
  const auto judged = [](const std::string& question, const std::string& given) {
    return judge(*right_of(asking("ask = \"?\"\n" + question + kBecause)).key, given);
  };
  const std::string term = "at = \"tensor\"\nanswer = \"output('mlp.proj')\"";
  for (const char* const words : {"Z", "z", "mlp.proj.sum@partial", "mlp.proj", "Z = G · Wproj", "z=g*wproj"})
    EXPECT_TRUE(judged(term, words).right) << words << ": " << judged(term, words).problem;
  EXPECT_FALSE(judged(term, "mlp.proj.sum").right) << "that is the sum";
  EXPECT_FALSE(judged(term, "all-reduce Z").right);
  const std::string sum = "at = \"step\"\nanswer = \"writer('mlp.proj.sum')\"";
  for (const char* const words : {"all-reduce Z", "all-reduce(Z)", "AllReduce Z", "all reduce z",
                                  "mlp.proj.sum", "all-reduce mlp.proj.sum", "all-reduce(Z) (mlp.proj.sum)"})
    EXPECT_TRUE(judged(sum, words).right) << words << ": " << judged(sum, words).problem;
  EXPECT_THAT(judged(sum, "all-reduse Z").problem, HasSubstr("did you mean"));
}

// A card heads an answer with these words: first what the page shows, then the plain name without "@partial".
TEST(Answers, AStepOrTensorIsShownAsThePageShowsIt) {
  const Lesson lesson = asking("ask = \"?\"\nat = \"step\"\nanswer = \"output('mlp.proj')\"" + kBecause);
  LessonRun run(lesson, {});
  const Scene& scene = lesson.scenes.front();
  const Program& program = run.evidence_of(scene.state)->program();
  EXPECT_EQ(with_equation(program, "mlp.gelu"), "G = GeLU(H) (mlp.gelu)");
  EXPECT_EQ(with_equation(program, "all-reduce mlp.proj.sum"), "all-reduce(Z) (mlp.proj.sum)");
  EXPECT_EQ(with_equation(program, "mlp.proj.sum"), "Z (mlp.proj.sum)");
  EXPECT_EQ(with_equation(program, "mlp.proj.sum@partial"), "Z (mlp.proj.sum, Partial)");
  EXPECT_EQ(with_equation(program, "X"), "X");
  EXPECT_EQ(with_equation(program, "rank 2"), "rank 2");
  EXPECT_THAT(run.right_answer(scene, scene.questions.front()).accepted, ElementsAre("mlp.proj"))
      << "the step, not the tensor that it writes";
}

}  // namespace lesson_answers_test
}  // namespace shardlens
