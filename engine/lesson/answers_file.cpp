// Reads answers, and writes questions and marks as JSON.
#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/suggest.h"
#include "engine/io/input_file.h"
#include "engine/io/json.h"
#include "engine/lesson/answer_key.h"
#include "engine/lesson/marking.h"

namespace shardlens {
namespace {

constexpr int64_t kLargestAnswers = 1 << 20;

}  // namespace

nlohmann::json read_answers(const std::string& path) {
  const InputFile file(path);
  if (file.size() > kLargestAnswers)
    throw request_error(
        fmt::format("{} has {} bytes; answers have at most {}", path, file.size(), kLargestAnswers));
  return parse_json(file.text(), path);
}

nlohmann::ordered_json questions_as_json(LessonRun& run) {
  nlohmann::ordered_json questions = nlohmann::ordered_json::array();
  for (const Scene& scene : run.lesson().scenes)
    for (const Question& question : scene.questions) {
      const ShownQuestion shown = run.show(scene, question);
      nlohmann::ordered_json one = {
          {"id", question.id}, {"kind", to_string(question.kind)}, {"ask", shown.ask}};
      if (question.kind == QuestionKind::Choice) one["choices"] = shown.choices;
      if (question.kind == QuestionKind::Order) one["choices"] = shown.items;
      if (!question.unit.empty()) one["unit"] = question.unit;
      questions.push_back(std::move(one));
    }
  nlohmann::ordered_json seed;
  if (run.drawn().seed) seed = *run.drawn().seed;
  return {{"lesson", run.lesson().name}, {"seed", seed}, {"questions", questions}};
}

nlohmann::ordered_json right_answers_as_json(LessonRun& run) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Scene& scene : run.lesson().scenes)
    for (const Question& question : scene.questions) {
      const RightAnswer right = run.right_answer(scene, question);
      nlohmann::ordered_json one = {{"id", question.id},
                                    {"kind", to_string(question.kind)},
                                    {"ask", run.show(scene, question).ask},
                                    {"right", right.text}};
      nlohmann::ordered_json accepted = nlohmann::ordered_json::array(), hints = accepted, holds = accepted;
      if (question.kind == QuestionKind::Number) {
        accepted.push_back(right.accepted);
        one["tolerance"] = question.tolerance;
        for (const AnswerKey::NumberHint& hint : right.key->number_hints)
          hints.push_back({fmt::format("{}", hint.at), hint.text});
      } else if (right.key) {
        for (size_t i = 0; i < right.key->candidates.size(); ++i) {
          const AnswerKey::Candidate& candidate = right.key->candidates[i];
          if (candidate.right || question.kind == QuestionKind::Order)
            accepted.push_back(right.key->words_of(static_cast<int>(i)));
          if (!candidate.hint.empty()) hints.push_back({candidate.name, candidate.hint});
        }
      }
      for (const LessonCondition& condition : question.conditions) holds.push_back(written(*condition.right));
      one["accepted"] = std::move(accepted);
      if (!hints.empty()) one["hints"] = std::move(hints);
      if (!holds.empty()) one["conditions"] = std::move(holds);
      all.push_back(std::move(one));
    }
  return all;
}

nlohmann::ordered_json marks_as_json(const Marks& marks) {
  nlohmann::ordered_json questions = nlohmann::ordered_json::array();
  for (const Marked& one : marks.questions)
    questions.push_back(
        {{"id", one.id},
         {"answered", one.answered.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(one.answered)},
         {"right", one.right},
         {"correct", one.correct},
         {"because", one.because}});
  return {{"points", marks.points}, {"of", marks.of}, {"questions", questions}};
}

nlohmann::ordered_json marks_for_gradescope(const Marks& marks) {
  nlohmann::ordered_json tests = nlohmann::ordered_json::array();
  for (const Marked& one : marks.questions) {
    std::string output = one.answered.empty() ? "Not answered." : "Answered: " + one.answered + ".";
    if (!one.message.empty() && !one.answered.empty()) output += " This " + one.message + ".";
    if (!one.hint.empty()) output += " " + one.hint;
    if (!one.right) output += " Right: " + one.correct + ".";
    tests.push_back({{"name", one.id},
                     {"score", one.points},
                     {"max_score", one.of},
                     {"status", one.right ? "passed" : "failed"},
                     {"output", output + " " + one.because}});
  }
  nlohmann::ordered_json out = {{"score", marks.points}, {"tests", tests}};
  if (!marks.messages.empty()) out["output"] = join(marks.messages);
  return out;
}

nlohmann::ordered_json no_marks_for_gradescope(const std::string& why) {
  return {{"score", 0}, {"output", "Nothing was marked: " + why}, {"tests", nlohmann::ordered_json::array()}};
}

}  // namespace shardlens
