// Goes through a lesson as its readers and markers will.
#include "engine/lesson/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "engine/base/error.h"
#include "engine/io/json_text.h"
#include "engine/lesson/answer_key.h"
#include "engine/lesson/functions.h"
#include "engine/lesson/marking.h"
#include "engine/lesson/names.h"
#include "engine/lesson/said_value.h"

namespace shardlens {
namespace {

using Clock = std::chrono::steady_clock;

/// What must be marked right: every right answer, a number also as it is written for people.
std::vector<nlohmann::json> own_answers(const Question& question, const RightAnswer& right) {
  if (question.kind == QuestionKind::Order) return {right.accepted};
  std::vector<nlohmann::json> all(right.accepted.begin(), right.accepted.end());
  all.insert(all.end(), right.numbers.begin(), right.numbers.end());
  return all;
}

/// Is there an order of the items that is wrong?
bool has_wrong_order(const AnswerKey& key) {
  return std::none_of(key.orders.begin(), key.orders.end(),
                      [](const auto& places) { return places.size() == 1; });
}

bool same(const Expression& a, const Expression& b) {
  return a.kind == b.kind && a.number == b.number && a.text == b.text &&
         std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end(),
                    [](const ExpressionPtr& x, const ExpressionPtr& y) { return same(*x, *y); });
}

/// Without the functions that only write a number shorter.
const Expression& unrounded(const Expression& expression) {
  const bool rounds = expression.kind == Expression::Kind::Call && !expression.parts.empty() &&
                      (expression.text == "round" || expression.text == "digits");
  return rounds ? unrounded(*expression.parts.front()) : expression;
}

/// True if the text shows the value of `answer`, as the same expression, rounded or not.
bool shows(const Template& text, const Expression& answer) {
  return std::any_of(text.pieces.begin(), text.pieces.end(), [&](const Template::Piece& piece) {
    return piece.expression && same(unrounded(*piece.expression), unrounded(answer));
  });
}
bool shows(const LessonText& text, const Expression& answer) {
  for (const LessonParagraph& paragraph : text.paragraphs)
    for (const LessonSpan& span : paragraph.spans)
      if (shows(span.text, answer)) return true;
  return false;
}

constexpr size_t kLeastPlacesOfOne = 3;  ///< of three places at most one may be right

/// How much can be pointed at: the ranks, or the steps of the pass that the answer is in. 0: not known.
size_t places_to_point_at(const Program& program, const Question& question, const RightAnswer& right) {
  if (question.at == PointAt::Rank) return static_cast<size_t>(program.tp() * program.dp());
  if (question.at == PointAt::Bar || right.accepted.empty()) return 0;
  const Phase phase = program.step(step_named(program, right.accepted.front())).phase;
  return static_cast<size_t>(std::count_if(program.steps.begin(), program.steps.end(),
                                           [&](const Step& step) { return step.phase == phase; }));
}

/// What the picture of a scene points at itself: what it selects, and what it calls out or lights alone.
std::vector<std::string> pointed_at(const SceneState& state) {
  std::vector<std::string> names;
  if (!state.select.empty()) names.push_back(state.select);
  if (state.rank) names.push_back(fmt::format("rank {}", *state.rank));
  for (const Callout& callout : state.callouts) names.push_back(callout.at);
  if (state.spotlight.size() == 1) names.push_back(state.spotlight.front());
  return names;
}

class Checker {
 public:
  explicit Checker(const Lesson& lesson) : lesson_(lesson) {}

  void check(std::optional<uint64_t> seed) {
    seed_ = seed;
    guarded(0, [&] {
      LessonRun run(lesson_, seed, store_);
      guarded(0, [&] { check_names(lesson_, run.drawn(), run.store()); });
      for (const Scene& scene : lesson_.scenes) {
        const auto begin = Clock::now();
        guarded(scene.line, [&] { run.show(scene); });
        for (const Question& question : scene.questions)
          guarded(question.line, [&] { check(run, scene, question); });
        if (!seed)
          found_.scenes.push_back({scene.id, std::chrono::duration<double>(Clock::now() - begin).count()});
      }
    });
    if (seed) return;
    for (const Scene& scene : lesson_.scenes)
      if (scene.text.words > kMostWordsOfAScene)
        problem(scene.line,
                fmt::format("the scene has {} words; at most {} are read while something moves beside them",
                            scene.text.words, kMostWordsOfAScene));
    for (const Scene& scene : lesson_.scenes)
      for (const Question& question : scene.questions) check_said_before(scene, question);
    found_.questions = lesson_.question_count();
  }

  LessonCheck found() { return std::move(found_); }

 private:
  /// What a question asks is shown nowhere before it is answered: not in what stands above it on the card,
  /// where the reasons of the questions before it are read first, and not beside the rows of the page.
  void check_said_before(const Scene& scene, const Question& question) {
    const auto says = [&](const auto& text) {
      const auto& all = question.conditions;
      return std::any_of(question.answers.begin(), question.answers.end(),
                         [&](const auto& one) { return shows(text, *one); }) ||
             std::any_of(all.begin(), all.end(), [&](const auto& one) { return shows(text, *one.right); });
    };
    if (says(scene.text) || says(question.ask))
      problem(question.line, "the answer stands in the text above the question: leave it to the reason");
    const auto& callouts = scene.state.callouts;
    if (std::any_of(callouts.begin(), callouts.end(), [&](const Callout& one) { return says(one.text); }))
      problem(question.line, "the answer stands in a callout of the scene: leave it to the reason");
    for (const Question& other : scene.questions) {
      if (&other == &question) continue;
      const bool is_before = &other < &question;
      if (says(other.ask) || (is_before && says(other.because)))
        problem(question.line, fmt::format("the answer stands in {} of another question of the scene",
                                           says(other.ask) ? "the text" : "the reason"));
    }
  }

  /// The page of a scene may not point at the answer.
  void check_not_pointed_at(LessonRun& run, const Scene& scene, const Question& question) {
    if (question.kind != QuestionKind::Point) return;
    for (const std::string& name : pointed_at(scene.state))
      if (run.mark(scene, question, name).right)
        problem(
            question.line,
            fmt::format("the scene points at the answer: \"{}\" is selected, called out or lit alone", name));
  }

  void check(LessonRun& run, const Scene& scene, const Question& question) {
    const RightAnswer right = run.right_answer(scene, question);
    if (right.because.empty()) problem(question.because.line, "the reason is empty");
    if (question.kind == QuestionKind::Choice && run.show(scene, question).choices.size() < 2)
      problem(question.line, "fewer than two choices are left after the drawing: they read the same");
    if (question.kind == QuestionKind::Point) {
      const size_t places = places_to_point_at(run.evidence_of(scene.state)->program(), question, right);
      if (places > 0 && right.accepted.size() * kLeastPlacesOfOne > places)
        problem(question.line,
                fmt::format("{} of {} places are right, so who only guesses is often right: ask for "
                            "less, or for a number",
                            right.accepted.size(), places));
    }
    if (question.kind == QuestionKind::Order && !has_wrong_order(*right.key))
      problem(question.line, "every order is right, because all items are equal: ask for others");
    if (question.kind != QuestionKind::Cut)
      for (const nlohmann::json& own : own_answers(question, right))
        if (const Judged judged = judge(*right.key, own); !judged.right)
          problem(question.line, fmt::format("its own answer {} is not marked right{}{}", json_text(own),
                                             judged.problem.empty() ? "" : ": it ", judged.problem));
    check_hints(run, scene, question, right);
    for (const LessonCondition& condition : question.conditions)
      guarded(condition.wrong.line, [&] {
        filled(condition.wrong, {run.store(), run.evidence_of(scene.state), run.drawn()});
      });
    check_not_pointed_at(run, scene, question);
    check_wrong_is_wrong(question, right);
  }

  /// A hint is for a wrong answer.
  void check_hints(LessonRun& run, const Scene& scene, const Question& question, const RightAnswer& right) {
    const Surroundings where{run.store(), run.evidence_of(scene.state), run.drawn()};
    for (const LessonHint& hint : question.hints)
      guarded(hint.line, [&] {
        const Value value = evaluate(*hint.at, where);
        const auto* names = std::get_if<Names>(&value);
        for (const std::string& one : names ? *names : Names{hinted_text(question, value)})
          if (judge(*right.key, one).right || is_never_too_early(*right.key, one))
            problem(hint.line,
                    fmt::format("the hint is for {}, which is right: a hint is for a wrong answer", one));
      });
  }
  /// True of an item with which every right order begins.
  static bool is_never_too_early(const AnswerKey& key, const std::string& item) {
    if (key.kind != QuestionKind::Order) return false;
    const std::vector<int> named = named_candidates(key, item);
    return std::all_of(key.orders.begin(), key.orders.end(), [&](const auto& places) {
      return count_in_order(named, {places.front()}) == named.size();
    });
  }
  static std::string hinted_text(const Question& question, const Value& value) {
    const LessonNumber* const number = std::get_if<LessonNumber>(&value);
    const bool counts = question.kind == QuestionKind::Number || question.kind == QuestionKind::Point;
    return number && counts ? fmt::format("{}", in_unit(*number, question.unit)) : to_text(value);
  }

  /// What can be measured only (times) may differ the next time; what is wrong must not be marked right.
  void check_wrong_is_wrong(const Question& question, const RightAnswer& right) {
    if (question.kind == QuestionKind::Number) {
      double largest = 0;
      for (const double number : right.numbers)
        if (std::abs(number) > std::abs(largest)) largest = number;
      if (largest != 0 && judge(*right.key, largest * 3 + 1).right)
        problem(question.line,
                "a number that is three times as large is marked right: the tolerance is too wide");
    }
    if (question.kind != QuestionKind::Choice) return;
    const std::vector<AnswerKey::Candidate>& choices = right.key->candidates;
    for (const AnswerKey::Candidate& one : choices)
      if (!one.right && judge(*right.key, one.name).right)
        problem(question.line, fmt::format("\"{}\" is marked right and is not", one.name));
    if (std::all_of(choices.begin(), choices.end(), [](const auto& one) { return one.right; }))
      problem(question.line, "all choices are right: leave a wrong one");
  }

  template <class Action>
  void guarded(int line, const Action& action) {
    try {
      action();
    } catch (const Error& error) {
      problem(line, error.what());
    }
  }

  void problem(int line, const std::string& what) {
    const std::string seed = seed_ ? fmt::format(", seed {}", *seed_) : "";
    std::string where = fmt::format("{}:{}", lesson_.source, line), text = what;
    // A lesson_error says itself where it is, to the line.
    if (text.starts_with(lesson_.source + ":"))
      if (const size_t end = text.find(": ", lesson_.source.size()); end != std::string::npos) {
        where = text.substr(0, end);
        text = text.substr(end + 2);
      }
    where += seed;
    for (const LessonProblem& known : found_.problems)
      if (known.what == text) return;
    found_.problems.push_back({where, text});
  }

  const Lesson& lesson_;
  std::optional<uint64_t> seed_;
  std::shared_ptr<EvidenceStore> store_ =
      std::make_shared<EvidenceStore>();  ///< what no draw changes runs once
  LessonCheck found_;
};

}  // namespace

LessonCheck check_lesson(const Lesson& lesson, const std::vector<uint64_t>& seeds) {
  Checker checker(lesson);
  checker.check({});
  if (!lesson.draws.empty())
    for (const uint64_t seed : seeds) checker.check(seed);
  return checker.found();
}

}  // namespace shardlens
