#include "engine/lesson/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/base/error.h"
#include "engine/config/splits.h"
#include "engine/config/validate.h"
#include "engine/lesson/answer_key.h"
#include "engine/lesson/functions.h"
#include "engine/lesson/said_value.h"

namespace shardlens {
namespace {

constexpr int kDegrees[] = {1, 2, 4, 8};

const char* words_for(Cut cut) {
  switch (cut) {
    case Cut::Column:
      return "cut by columns";
    case Cut::Row:
      return "cut by rows";
    case Cut::Replicated:
      break;
  }
  return "whole on every rank";
}

// The matrices that are cut in another way, by their letters: a lesson need not have named the splits.
std::string difference(const Split& from, const Split& to, const Program& program) {
  std::string words;
  for (const MatrixCut& matrix : matrix_cuts()) {
    const TensorId weight = find_tensor(program, std::string(matrix.name) + ".weight");
    if (from.*matrix.cut == to.*matrix.cut || weight == kNoTensor) continue;
    words += fmt::format("{}{} {}", words.empty() ? "" : " and ", program.tensor(weight).symbol,
                         words_for(to.*matrix.cut));
  }
  return words;
}

// The scene's settings, each with other cuts of the matrices or another T.
std::vector<WhatIf> neighbours(const Settings& settings, const Program& program) {
  std::vector<WhatIf> all;
  for (const Split& split : named_splits()) {
    const std::string words = difference(settings.split, split, program);
    if (words.empty() || split.norm != settings.split.norm) continue;  // of another kind
    all.push_back({settings, words});
    all.back().settings.split = split;
  }
  for (const int tp : kDegrees) {
    if (tp == settings.tp) continue;
    all.push_back({settings, fmt::format("T = {}", tp)});
    all.back().settings.tp = tp;
  }
  return all;
}

bool is_right(const Question& question, const Value& value, const nlohmann::json& answer) {
  if (question.kind == QuestionKind::Choice)
    return answer.is_string() && reads_as(value, answer.get_ref<const std::string&>());
  const LessonNumber* number = std::get_if<LessonNumber>(&value);
  if (number == nullptr) return false;
  AnswerKey key;
  key.kind = QuestionKind::Number;
  key.numbers = {in_unit(*number, question.unit)};
  key.unit = question.unit;
  key.tolerance = question.tolerance;
  return judge(key, answer).right;
}

}  // namespace

std::optional<WhatIf> settings_where_right(LessonRun& run, const Scene& scene, const Question& question,
                                           const nlohmann::json& answer) {
  const bool can_be_planned =
      (question.kind == QuestionKind::Choice || question.kind == QuestionKind::Number) &&
      !question.answers.empty() &&
      std::none_of(question.answers.begin(), question.answers.end(),
                   [](const ExpressionPtr& one) { return needs_run(*one); });
  if (!can_be_planned || scene.state.mistake || !scene.state.recording.empty()) return std::nullopt;
  const std::shared_ptr<Evidence> evidence = run.evidence_of(scene.state);
  for (WhatIf& other : neighbours(evidence->settings(), evidence->program())) {
    try {
      validate(other.settings);
      const Surroundings there{run.store(), run.store().of(other.settings), run.drawn()};
      for (const ExpressionPtr& right : question.answers)
        if (is_right(question, evaluate(*right, there), answer)) return std::move(other);
    } catch (const Error& error) {  // cannot be planned, or has no such step
      if (error.kind() == ErrorKind::Cancelled) throw;
    }
  }
  return std::nullopt;
}

}  // namespace shardlens
