// Reads answers, and writes questions and marks as JSON.
#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/suggest.h"
#include "engine/io/input_file.h"
#include "engine/io/json.h"
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
      if (question.kind == QuestionKind::Order) one["choices"] = question.items;
      if (!question.unit.empty()) one["unit"] = question.unit;
      questions.push_back(std::move(one));
    }
  nlohmann::ordered_json seed;
  if (run.drawn().seed) seed = *run.drawn().seed;
  return {{"lesson", run.lesson().name}, {"seed", seed}, {"questions", questions}};
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
