// Fills in what a handout says.
#include "ui/handout/handout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/io/atomic_file.h"
#include "engine/lesson/functions.h"
#include "engine/runtime/snapshot.h"
#include "ui/commands/glossary.h"
#include "ui/plan/shown_plan.h"
#include "ui/stage/stage_light.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

/// What a picture or a text calls what is right.
std::string shown_word(const Program& program, PointAt at, const std::string& name) {
  if (at == PointAt::Rank) return "rank " + name;
  if (at == PointAt::Bar) return name;
  const stage::NamedPlace place =
      stage::place_named(program, name);  // a tensor stands for the step that writes it
  if (at == PointAt::Step && place.step >= 0 && !program.step(place.step).equation.empty())
    return program.step(place.step).equation;
  if (at == PointAt::Tensor && place.tensor != kNoTensor) return program.tensor(place.tensor).symbol;
  return name;  // the picture shows another Program
}

}  // namespace

std::string HandoutQuestion::how_to_answer() const {
  switch (kind) {
    case QuestionKind::Choice:
      return "";
    case QuestionKind::Number:
      if (unit == "times") return "Write a factor: 2 is twice as much.";
      return unit.empty() ? "Write a number." : fmt::format("Write a number, in {}.", unit);
    case QuestionKind::Point:
      switch (at) {
        case PointAt::Step:
          return "Write the step's name or its equation.";
        case PointAt::Tensor:
          return "Write the tensor's name or its letter.";
        case PointAt::Rank:
          return "Write the rank's number.";
        case PointAt::Bar:
          return "Write the bar's name.";
      }
      break;
    case QuestionKind::Order:
      return fmt::format("Number them from 1 to {}.", choices.size());
    case QuestionKind::Cut:
      return "Write for each matrix: column, row or replicated.";
  }
  return "";
}

std::string HandoutQuestion::right_text() const {
  constexpr size_t kMostNamed = 4;  // of several right answers
  if (kind == QuestionKind::Point && at != PointAt::Rank && !right_words.empty()) {
    if (right_words.size() == 1) return right.text;
    const size_t named = std::min(right_words.size(), kMostNamed);
    const std::string words =
        fmt::format("{}", fmt::join(right_words.begin(), right_words.begin() + named, ", "));
    return named == right_words.size() ? words
                                       : fmt::format("{} and {} more", words, right_words.size() - named);
  }
  std::string text = right.text;
  if (kind == QuestionKind::Number && !unit.empty() && !text.ends_with(unit)) text += " " + unit;
  return text;
}

std::vector<std::string_view> Handout::words() const {
  std::set<std::string_view> explained;
  std::vector<std::string_view> all;
  const auto read = [&](const std::string& text, bool is_name) {
    std::vector<TextWord> words;
    std::istringstream parts(text);
    for (std::string part; parts >> part;) words.push_back({part, is_name});
    for (const std::string_view meaning : glossary_meanings(words, explained))
      if (!meaning.empty() && (all.empty() || all.back() != meaning)) all.push_back(meaning);
  };
  for (const HandoutScene& scene : scenes) {
    for (const ShownParagraph& paragraph : scene.text)
      for (const ShownSpan& span : paragraph.spans)
        if (paragraph.kind != LessonParagraph::Kind::Code) read(span.text, span.emphasis || span.code);
    for (const ShownCallout& callout : scene.callouts) read(callout.text, false);
    for (const HandoutQuestion& question : scene.questions) {
      read(question.ask, false);
      for (const std::string& choice : question.choices) read(choice, false);
    }
  }
  return all;
}

int Handout::question_count() const {
  int count = 0;
  for (const HandoutScene& scene : scenes) count += static_cast<int>(scene.questions.size());
  return count;
}

std::string Handout::extent() const {
  return fmt::format("{} · {} · {}", counted(minutes, "minute"),
                     counted(static_cast<int64_t>(scenes.size()), "scene"),
                     counted(question_count(), "question"));
}

std::string Handout::number_of(size_t scene, size_t question) {
  return fmt::format("{}.{}", scene + 1, question + 1);
}

Handout handout_of(const Lesson& lesson, std::optional<uint64_t> seed) {
  return {lesson.name, lesson.title, lesson.asks, lesson.minutes, lesson.sources, seed, {}};
}

HandoutScene scene_of(const ShownScene& shown) {
  HandoutScene scene;
  scene.title = shown.title;
  scene.text = shown.text;
  scene.callouts = shown.callouts;
  return scene;
}

HandoutQuestion question_of(const ShownQuestion& shown, const RightAnswer& right, const Program& program) {
  const Question& question = *shown.question;
  HandoutQuestion out;
  out.id = question.id;
  out.kind = question.kind;
  out.at = question.at;
  out.ask = shown.ask;
  out.choices = question.kind == QuestionKind::Order ? shown.items : shown.choices;
  out.unit = question.unit;
  out.right = right;
  if (question.kind == QuestionKind::Point && right.accepted.size() == 1)
    out.right.text = with_equation(program, right.accepted.front());
  if (question.kind == QuestionKind::Point)
    for (const std::string& name : right.accepted)
      if (const std::string word = shown_word(program, question.at, name);
          std::find(out.right_words.begin(), out.right_words.end(), word) == out.right_words.end())
        out.right_words.push_back(word);
  return out;
}

std::string numbers_of(const Snapshot& snapshot) {
  const std::shared_ptr<const Plan> plan = shared_shown_plan(snapshot);
  if (!plan) return "";
  const Program& program = plan->program;
  std::vector<std::string> facts{title_of(program.settings), provenance_of(snapshot, *plan)};
  const std::shared_ptr<const Result> result = shown_result(snapshot);
  if (result && result->parity_summary.known) {
    const ParitySummary& parity = result->parity_summary;
    facts.push_back(!parity.agrees ? "differs from the run on one rank"
                    : parity.worst_relative_error == 0
                        ? "equals the run on one rank exactly"
                        : fmt::format("equals the run on one rank, largest relative error {}",
                                      format_error(parity.worst_relative_error)));
    facts.back() += fmt::format(" ({} compared)", compared_words(parity.coverage));
  }
  int64_t bytes = 0;
  for (const Step& step : program.steps) bytes += sent_bytes(program, step.id);
  if (program.tp() * program.dp() > 1)
    facts.push_back(bytes_text(static_cast<double>(bytes)) + " sent by each rank");
  if (result && result->timed)
    facts.push_back(format_seconds(result->forward_seconds + result->backward_seconds));
  return fmt::format("{}", fmt::join(facts, "  ·  "));
}

void require_handout(const std::filesystem::path& path) {
  if (path.extension() != ".pdf" && path.extension() != ".html")
    throw request_error(fmt::format(
        "{}: a handout's name must end in .pdf or .html; for pictures use --slides FOLDER", path.string()));
}

void write_handout(const Handout& handout, const Fonts& fonts, const std::filesystem::path& path) {
  require_handout(path);
  write_file_atomically(path.string(), kVectorFile,
                        path.extension() == ".pdf" ? to_pdf(handout, fonts) : to_html(handout, fonts));
}

}  // namespace shardlens::ui
