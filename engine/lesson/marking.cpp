// Shows scenes and marks answers.
#include "engine/lesson/marking.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/shown.h"
#include "engine/base/suggest.h"
#include "engine/config/splits.h"
#include "engine/io/json.h"
#include "engine/io/json_text.h"
#include "engine/lesson/answer_key.h"
#include "engine/lesson/at_line.h"
#include "engine/lesson/cut_answer.h"
#include "engine/lesson/run_keys.h"
#include "engine/train/data/draws.h"

namespace shardlens {
namespace {

constexpr size_t kMostMessages = 20;
constexpr uint32_t kShufflePurpose = 0x54ff1e;
constexpr int kMostShuffles = 100;

std::string answered_text(const nlohmann::json& answer) {
  const bool names = answer.is_array() && std::all_of(answer.begin(), answer.end(),
                                                      [](const auto& one) { return one.is_string(); });
  if (names) return shown(join(answer.get<Names>()), 200);
  if (answer.is_string()) return shown(answer.get_ref<const std::string&>(), 200);
  return shown(json_text(answer), 200);
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

/// The items of an Order as they are shown: the same everywhere for a seed, and not in a right order.
Names shuffled(const Question& question, const std::vector<Ordered>& orders, uint64_t seed) {
  uint64_t index = 0xcbf29ce484222325;  // FNV-1a of the question's name
  for (const char letter : question.id) index = (index ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  Draws draws(seed, kShufflePurpose, index);
  Names items = question.items;
  std::sort(items.begin(), items.end());  // the file's order tells nothing
  for (int tries = 0; tries < kMostShuffles; ++tries) {
    for (size_t left = items.size(); left > 1; --left)
      std::swap(items[left - 1], items[draws.below(static_cast<uint32_t>(left))]);
    if (std::none_of(orders.begin(), orders.end(),
                     [&](const Ordered& one) { return is_in_order(items, one.places); }))
      break;
  }
  return items;
}

}  // namespace

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
  if (question.kind == QuestionKind::Order)
    shown.items = shuffled(question, orders_of(scene, question), drawn_.seed.value_or(0));
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
                                         const nlohmann::json& answer) {
  if (question.kind != QuestionKind::Choice || !answer.is_string()) return nullptr;
  const std::shared_ptr<const AnswerKey> key = right_answer(scene, question).key;
  const std::vector<int> named = named_candidates(*key, answer.get_ref<const std::string&>());
  if (named.size() != 1) return nullptr;
  const std::string& words = key->candidates[static_cast<size_t>(named.front())].name;
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
  if (question.kind == QuestionKind::Cut) {
    mark_cut(scene, question, answer, marked);
  } else {
    const Judged judged = judge(*right.key, answer);
    marked.right = judged.right;
    marked.message = judged.problem;
    marked.hint = judged.hint;
    marked.is_read = judged.problem.empty();
  }
  marked.points = marked.right ? marked.of : 0;
  return marked;
}

void LessonRun::mark_cut(const Scene& scene, const Question& question, const nlohmann::json& answer,
                         Marked& marked) {
  Split split;
  try {
    if (!answer.is_object())
      throw request_error(
          fmt::format("must be an object as in a split file, such as {{\"mlp.fc\": \"column\"}}, and is {}",
                      kind_of(answer)));
    split = split_from_json(answer, "answer");
  } catch (const Error& error) {
    marked.message = error.what();
    marked.is_read = false;
    return;
  }
  const Surroundings where = surroundings(scene.state);
  const CutTried tried =
      try_cut(lesson_, question, where.evidence->settings(), split, scene.state.mistake, where);
  marked.right = tried.does;
  marked.message = tried.why_not;
  marked.answered = cut_text(split, where.evidence->settings().block);
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
