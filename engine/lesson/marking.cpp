// Shows scenes, finds right answers and marks given ones.
#include "engine/lesson/marking.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/base/shown.h"
#include "engine/base/suggest.h"
#include "engine/config/splits.h"
#include "engine/io/json.h"
#include "engine/io/json_text.h"
#include "engine/lesson/functions.h"
#include "engine/lesson/names.h"
#include "engine/lesson/run_keys.h"

namespace shardlens {
namespace {

constexpr size_t kMostMessages = 20;
constexpr double kRough = 0.01;  // a tolerance from which a number is written with three digits
constexpr double kExact = 1e-9;  // of a number without a tolerance: what printing loses

// Evaluates; what goes wrong gets the lesson's file and line.
template <class Evaluate>
auto at_line(const Lesson& lesson, int line, const Evaluate& evaluate) {
  try {
    return evaluate();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Request) throw;
    throw lesson_error(lesson.source, line, error.what());
  }
}

double factor_of(const std::string& unit) {
  for (const LessonUnit& one : lesson_units())
    if (unit == one.name) return one.factor;
  return 1;
}

/// `tolerance`: of the question. With a percent or more, three digits are enough to be right.
std::string number_text(double number, const std::string& unit, double tolerance = 0) {
  const bool is_whole = std::floor(number) == number || (tolerance >= kRough && std::abs(number) >= 1000);
  const std::string digits = is_whole && std::abs(number) < 1e15 ? fmt::format("{:.0f}", number)
                             : tolerance >= kRough               ? fmt::format("{:.3g}", number)
                                                                 : fmt::format("{:.6g}", number);
  return unit.empty() ? digits : digits + " " + unit;
}

std::vector<ShownParagraph> shown_text(const LessonText& text, const Surroundings& where,
                                       const Lesson& lesson) {
  std::vector<ShownParagraph> paragraphs;
  for (const LessonParagraph& paragraph : text.paragraphs) {
    ShownParagraph out{paragraph.kind, paragraph.number, {}};
    for (const LessonSpan& span : paragraph.spans)
      out.spans.push_back({at_line(lesson, span.text.line, [&] { return filled(span.text, where); }),
                           span.strong, span.emphasis, span.code});
    paragraphs.push_back(std::move(out));
  }
  return paragraphs;
}

// The cuts to try for a question that asks for one: the named splits, then every way to cut the four
// matrices.
std::vector<Split> splits_to_try() {
  std::vector<Split> splits = named_splits();
  constexpr Cut kCuts[] = {Cut::Column, Cut::Row, Cut::Replicated};
  for (const Cut qkv : kCuts)
    for (const Cut attn_proj : kCuts)
      for (const Cut fc : kCuts)
        for (const Cut mlp_proj : kCuts) {
          Split split;
          split.name = "own";
          split.attn_qkv = qkv, split.attn_proj = attn_proj, split.mlp_fc = fc, split.mlp_proj = mlp_proj;
          splits.push_back(split);
        }
  return splits;
}

std::string cut_text(const Split& split, Block block) {
  std::vector<std::string> cuts;
  for (const MatrixCut& matrix : matrix_cuts())
    if (matrix.is_in(block)) cuts.push_back(fmt::format("{} {}", matrix.name, to_string(split.*matrix.cut)));
  return join(cuts);
}

// Are these the items of an order, each once, in whatever order?
bool are_items(const Names& names, const Question& question) {
  return std::is_permutation(names.begin(), names.end(), question.items.begin(), question.items.end());
}

bool is_yes(const Value& value, const Question& question, const Lesson& lesson) {
  if (const bool* yes = std::get_if<bool>(&value)) return *yes;
  throw lesson_error(lesson.source, question.line,
                     fmt::format("the answer of this question must be a yes or no, and \"{}\" is {}",
                                 shown(to_text(value)), kind_of(value)));
}

// Does this split do what is asked? The run decides, not only the plan.
struct CutTried {
  bool does = false;
  std::string why_not;
};
CutTried try_cut(const Lesson& lesson, const Question& question, Settings settings, const Split& split,
                 const std::optional<Fault>& mistake, const Surroundings& where) {
  settings.split = split;
  const std::shared_ptr<Evidence> evidence = where.store.of(settings, mistake);
  try {
    evidence->program();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Cancelled) throw;
    return {false, error.what()};
  }
  const Surroundings here{where.store, evidence, where.drawn};
  for (const LessonCondition& condition : question.conditions) {
    const Value value = at_line(lesson, question.line, [&] { return evaluate(*condition.right, here); });
    if (is_yes(value, question, lesson)) continue;
    if (condition.wrong.empty())
      return {false, fmt::format("`{}` does not hold", shown(written(*condition.right), 120))};
    return {false, at_line(lesson, condition.wrong.line, [&] { return filled(condition.wrong, here); })};
  }
  if (!mistake && !evidence->run().parity_summary.agrees)
    return {false, "its run differs from the run on one rank"};
  return {true, ""};
}

}  // namespace

bool reads_as(const Value& value, const std::string& words) {
  const LessonNumber* number = std::get_if<LessonNumber>(&value);
  return words == to_text(value) || (number && words == number_text(number->value, ""));
}

double in_unit(const LessonNumber& number, const std::string& unit) {
  return number.value / factor_of(unit);
}

bool is_close(double given, double right, double tolerance) {
  return std::abs(given - right) <= std::max(tolerance, kExact) * std::abs(right);
}

bool Marks::all_right() const {
  return std::all_of(questions.begin(), questions.end(), [](const Marked& one) { return one.right; });
}

LessonRun::LessonRun(const Lesson& lesson, std::optional<uint64_t> seed, std::shared_ptr<EvidenceStore> store)
    : lesson_(lesson),
      drawn_(draw(lesson, seed)),
      store_(store ? std::move(store) : std::make_shared<EvidenceStore>()) {}

std::shared_ptr<Evidence> LessonRun::evidence_of(const SceneState& state) {
  return store_->of(settings_of(lesson_, state, drawn_), state.mistake);
}

Surroundings LessonRun::surroundings(const SceneState& state) {
  return {*store_, evidence_of(state), drawn_};
}

ShownQuestion LessonRun::show(const Scene& scene, const Question& question) {
  const Surroundings where = surroundings(scene.state);
  ShownQuestion shown;
  shown.question = &question;
  shown.ask = at_line(lesson_, question.line, [&] { return filled(question.ask, where); });
  for (const LessonChoice& choice : question.choices) {
    std::string text = at_line(lesson_, choice.text.line, [&] { return filled(choice.text, where); });
    // What was drawn can make two choices the same: "2" and "{{ranks}}".
    if (std::find(shown.choices.begin(), shown.choices.end(), text) == shown.choices.end())
      shown.choices.push_back(std::move(text));
  }
  return shown;
}

std::vector<ShownCallout> LessonRun::callouts(const SceneState& state) {
  const Surroundings where = surroundings(state);
  std::vector<ShownCallout> shown;
  for (const Callout& callout : state.callouts)
    shown.push_back(
        {callout.at, at_line(lesson_, callout.line, [&] { return filled(callout.text, where); })});
  return shown;
}

const LessonChoice* LessonRun::choice_of(const Scene& scene, const Question& question,
                                         const std::string& words) {
  const Surroundings where = surroundings(scene.state);
  for (const LessonChoice& choice : question.choices)
    if (at_line(lesson_, choice.text.line, [&] { return filled(choice.text, where); }) == words)
      return &choice;
  return nullptr;
}

ShownScene LessonRun::show(const Scene& scene) {
  const Surroundings where = surroundings(scene.state);
  ShownScene shown;
  shown.scene = &scene;
  shown.settings = where.evidence->settings();
  shown.title = scene.title;
  shown.text = shown_text(scene.text, where, lesson_);
  shown.notes = shown_text(scene.notes, where, lesson_);
  shown.callouts = callouts(scene.state);
  for (const Question& question : scene.questions) shown.questions.push_back(show(scene, question));
  return shown;
}

RightAnswer LessonRun::right_answer(const Scene& scene, const Question& question) {
  const Surroundings where = surroundings(scene.state);
  const auto answer = [&] {
    return at_line(lesson_, question.line, [&] { return evaluate(*question.answer, where); });
  };
  const auto fail = [&](const std::string& message) {
    return lesson_error(lesson_.source, question.line, message);
  };
  const auto because = [&](const Surroundings& there) {
    return at_line(lesson_, question.because.line, [&] { return filled(question.because, there); });
  };
  RightAnswer right;
  switch (question.kind) {
    case QuestionKind::Choice: {
      const std::vector<std::string> texts = show(scene, question).choices;
      if (question.answer) {
        const Value value = answer();
        for (const std::string& text : texts)
          if (reads_as(value, text)) right.accepted.push_back(text);
        if (right.accepted.empty())
          throw fail(fmt::format("the answer is {}, and no choice reads so: the choices are {}",
                                 to_text(value), join(texts)));
        break;
      }
      for (const LessonChoice& choice : question.choices)
        if (is_yes(at_line(lesson_, choice.text.line, [&] { return evaluate(*choice.right, where); }),
                   question, lesson_))
          right.accepted.push_back(filled(choice.text, where));
      if (right.accepted.size() != 1)
        throw fail(fmt::format("{} choices are right, and one should be: {}", right.accepted.size(),
                               join(right.accepted)));
      break;
    }
    case QuestionKind::Number: {
      const Value value = answer();
      const LessonNumber* number = std::get_if<LessonNumber>(&value);
      if (!number)
        throw fail(fmt::format("the answer of a number must be a number, and is {}", to_text(value)));
      right.number = in_unit(*number, question.unit);
      if (!std::isfinite(right.number))
        throw fail(
            fmt::format("the answer is too large to be told in {}: choose a larger unit", question.unit));
      right.accepted = {number_text(right.number, question.unit, question.tolerance)};
      break;
    }
    case QuestionKind::Point: {
      const Value value = answer();
      if (const Names* names = std::get_if<Names>(&value)) {
        right.accepted = *names;
      } else if (const LessonNumber* number = std::get_if<LessonNumber>(&value)) {
        right.accepted = {number_text(number->value, "")};
      } else {
        right.accepted = {to_text(value)};
      }
      if (right.accepted.empty())
        throw fail("the answer is an empty list: nothing that is pointed at would be right");
      break;
    }
    case QuestionKind::Order: {
      const Value value = answer();
      const Names* names = std::get_if<Names>(&value);
      if (!names || !are_items(*names, question))
        throw fail(
            fmt::format("the answer of an order must be a list of its items, and is {}", to_text(value)));
      right.accepted = *names;
      break;
    }
    case QuestionKind::Cut: {
      const Settings settings = where.evidence->settings();
      for (const Split& split : splits_to_try()) {
        if (!try_cut(lesson_, question, settings, split, scene.state.mistake, where).does) continue;
        Settings cut = settings;
        cut.split = split;
        right.text = cut_text(split, settings.block);
        right.accepted = {right.text};
        right.split = split;
        right.because = because({*store_, store_->of(cut, scene.state.mistake), drawn_});
        return right;
      }
      throw fail("no way to cut the matrices does what is asked");
    }
  }
  right.text = join(right.accepted);
  right.because = because(where);
  return right;
}

namespace {

std::string kind_of(const nlohmann::json& value) {
  if (value.is_null()) return "null";
  if (value.is_boolean()) return "true or false";
  if (value.is_number()) return "a number";
  return value.is_string() ? "a text" : value.is_array() ? "a list" : "an object";
}

// What is wrong with an answer, apart from being wrong.
struct Unreadable {
  std::string message;
};

std::string answered_text(const nlohmann::json& answer) {
  if (answer.is_number()) return number_text(answer.get<double>(), "");
  const bool names = answer.is_array() && std::all_of(answer.begin(), answer.end(),
                                                      [](const auto& one) { return one.is_string(); });
  if (names) return shown(join(answer.get<Names>()), 200);
  if (answer.is_string()) return shown(answer.get_ref<const std::string&>(), 200);
  return shown(json_text(answer), 200);
}

std::string text_answer(const nlohmann::json& answer, const char* what) {
  if (!answer.is_string())
    throw Unreadable{fmt::format("must be {} as a text, and is {}", what, kind_of(answer))};
  return answer.get<std::string>();
}

bool is_choice_right(const ShownQuestion& question, const RightAnswer& right, const nlohmann::json& answer) {
  const std::string text = text_answer(answer, "the words of a choice");
  if (std::find(question.choices.begin(), question.choices.end(), text) == question.choices.end())
    throw Unreadable{"is none of the choices: " + join(question.choices)};
  return std::find(right.accepted.begin(), right.accepted.end(), text) != right.accepted.end();
}

bool is_number_right(const Question& question, const RightAnswer& right, const nlohmann::json& answer) {
  if (!answer.is_number()) throw Unreadable{fmt::format("must be a number, and is {}", kind_of(answer))};
  const double given = answer.get<double>();
  if (!std::isfinite(given)) throw Unreadable{"must be a finite number"};
  return is_close(given, right.number, question.tolerance);
}

bool is_point_right(const Question& question, const RightAnswer& right, const Program& program,
                    const nlohmann::json& answer) {
  const auto accepts = [&](const std::string& name) {
    return std::find(right.accepted.begin(), right.accepted.end(), name) != right.accepted.end();
  };
  if (question.at == PointAt::Rank) {
    std::optional<int64_t> rank;
    if (answer.is_number_integer()) rank = answer.get<int64_t>();
    if (answer.is_string())
      if (const auto named = rank_named(answer.get<std::string>())) rank = *named;
    const int64_t ranks = int64_t{program.tp()} * program.dp();
    if (!rank || *rank < 0 || *rank >= ranks)
      throw Unreadable{fmt::format("must be a rank, a number from 0 to {}", ranks - 1)};
    return accepts(std::to_string(*rank));
  }
  const std::string name = text_answer(answer, "a name");
  if (question.at == PointAt::Bar) return accepts(name);
  try {
    if (question.at == PointAt::Tensor) {
      const TensorId given = tensor_named(program, name);
      return std::any_of(right.accepted.begin(), right.accepted.end(),
                         [&](const std::string& one) { return tensor_named(program, one) == given; });
    }
    const StepId given = step_named(program, name);
    return std::any_of(right.accepted.begin(), right.accepted.end(),
                       [&](const std::string& one) { return step_named(program, one) == given; });
  } catch (const Error& error) {
    throw Unreadable{error.what()};
  }
}

bool is_order_right(const Question& question, const RightAnswer& right, const nlohmann::json& answer) {
  if (!answer.is_array())
    throw Unreadable{fmt::format("must be a list of names, and is {}", kind_of(answer))};
  Names given;
  for (const nlohmann::json& one : answer) {
    given.push_back(text_answer(one, "a list of names"));
    if (given.size() > question.items.size()) break;
  }
  if (!are_items(given, question)) throw Unreadable{"must hold each of these once: " + join(question.items)};
  return given == right.accepted;
}

}  // namespace

Marked LessonRun::mark(const Scene& scene, const Question& question, const nlohmann::json& answer) {
  const RightAnswer right = right_answer(scene, question);
  Marked marked;
  marked.id = question.id;
  marked.of = question.points;
  marked.correct = right.text;
  marked.because = right.because;
  if (answer.is_null()) {
    marked.message = "not answered";
    return marked;
  }
  marked.answered = answered_text(answer);
  try {
    switch (question.kind) {
      case QuestionKind::Choice:
        marked.right = is_choice_right(show(scene, question), right, answer);
        break;
      case QuestionKind::Number:
        marked.right = is_number_right(question, right, answer);
        break;
      case QuestionKind::Point:
        marked.right = is_point_right(question, right, evidence_of(scene.state)->program(), answer);
        break;
      case QuestionKind::Order:
        marked.right = is_order_right(question, right, answer);
        break;
      case QuestionKind::Cut: {
        if (!answer.is_object())
          throw Unreadable{fmt::format(
              "must be an object as in a split file, such as {{\"mlp.fc\": \"column\"}}, and is {}",
              kind_of(answer))};
        Split split;
        try {
          split = split_from_json(answer, "answer");
        } catch (const Error& error) {
          throw Unreadable{error.what()};
        }
        const Surroundings where = surroundings(scene.state);
        const CutTried tried =
            try_cut(lesson_, question, where.evidence->settings(), split, scene.state.mistake, where);
        marked.right = tried.does;
        marked.message = tried.why_not;
        marked.answered = cut_text(split, where.evidence->settings().block);
        break;
      }
    }
  } catch (const Unreadable& unreadable) {
    marked.message = unreadable.message;
  }
  marked.points = marked.right ? marked.of : 0;
  return marked;
}

Marks LessonRun::mark(const nlohmann::json& file, const std::string& source) {
  ObjectReader reader(file, source);
  const nlohmann::json& answers = reader.child("answers");
  if (!answers.is_object())
    throw request_error(fmt::format("{}, answers: must be an object of question and answer, and is {}",
                                    source, kind_of(answers)));
  // Who made the file may say so.
  for (const char* key : {"lesson", "seed", "student"}) reader.has(key);
  reader.finish();
  if (const std::string of = reader.string_or("lesson", lesson_.name); of != lesson_.name)
    throw request_error(
        fmt::format("{} answers the lesson \"{}\", and this one is \"{}\"", source, shown(of), lesson_.name));
  Marks marks;
  marks.lesson = lesson_.name;
  Names ids;
  for (const Scene& scene : lesson_.scenes)
    for (const Question& question : scene.questions) {
      ids.push_back(question.id);
      const auto given = answers.find(question.id);
      marks.questions.push_back(mark(scene, question, given == answers.end() ? nlohmann::json() : *given));
      marks.points += marks.questions.back().points;
      marks.of += marks.questions.back().of;
    }
  for (const auto& [id, answer] : answers.items()) {
    if (std::find(ids.begin(), ids.end(), id) != ids.end()) continue;
    if (marks.messages.size() == kMostMessages) {
      marks.messages.push_back("and more answers to no question");
      break;
    }
    marks.messages.push_back(unknown_name("question", id, ids).what());
  }
  return marks;
}

}  // namespace shardlens
