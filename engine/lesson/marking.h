// Shows a lesson's scenes with every expression filled in, and marks answers. The studio and the command line
// use the same functions. What is marked is compared with what a plan or a run gives here, and never with
// anything that the answer brings along.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/lesson/evidence.h"
#include "engine/lesson/lesson.h"

namespace shardlens {

struct AnswerKey;  // answer_key.h

/// A paragraph with its values in place.
struct ShownSpan {
  std::string text;
  bool strong = false, emphasis = false, code = false;
};
struct ShownParagraph {
  LessonParagraph::Kind kind = LessonParagraph::Kind::Plain;
  int number = 0;
  std::vector<ShownSpan> spans;
};

struct ShownCallout {
  std::string at;
  std::string text;
};

/// A question as it is asked: no answer in it.
struct ShownQuestion {
  const Question* question = nullptr;  ///< of the lesson
  std::string ask;
  std::vector<std::string> choices;
  std::vector<std::string> items;  ///< of an Order: shuffled by the seed, and not in a right order
};

struct ShownScene {
  const Scene* scene = nullptr;
  Settings settings;
  std::string title;
  std::vector<ShownParagraph> text, notes;
  std::vector<ShownCallout> callouts;
  std::vector<ShownQuestion> questions;
};

/// What is right, and why.
struct RightAnswer {
  std::vector<std::string>
      accepted;                 ///< choice, point: any of these; order: in this order; cut: splits that do it
  std::vector<double> numbers;  ///< of a Number, in the question's unit: any of these
  std::shared_ptr<const AnswerKey> key;  ///< all that may be answered; null: of a Cut
  std::optional<Split> split;            ///< of a Cut: one that does what is asked
  std::string text;                      ///< for people
  std::string because;
};

/// How one answer was marked.
struct Marked {
  std::string id;
  std::string answered;  ///< for people; empty: not answered
  bool right = false;
  std::string correct;
  std::string because;
  std::string message;  ///< why the answer could not be read, and what would do; or why a cut is wrong
  bool is_read = true;  ///< the answer could be read
  std::string hint;     ///< of the question's author, for this wrong answer
  double points = 0, of = 0;
};

struct Marks {
  std::string lesson;
  double points = 0, of = 0;
  std::vector<Marked> questions;
  std::vector<std::string> messages;  ///< about answers to no question
  bool all_right() const;
};

/// A lesson at a seed, with all that was planned and run for it. Not for two threads at once. The lesson must
/// outlive it.
class LessonRun {
 public:
  /// `store`: what was planned and run before; null: nothing.
  LessonRun(const Lesson& lesson, std::optional<uint64_t> seed,
            std::shared_ptr<EvidenceStore> store = nullptr);

  const Lesson& lesson() const { return lesson_; }
  const Drawn& drawn() const { return drawn_; }
  EvidenceStore& store() { return *store_; }

  /// Throws a lesson_error if an expression cannot be evaluated.
  ShownScene show(const Scene& scene);
  ShownQuestion show(const Scene& scene, const Question& question);
  std::vector<ShownCallout> callouts(const SceneState& state);
  /// The choice that an answer names; null: it names none, or several.
  const LessonChoice* choice_of(const Scene& scene, const Question& question, const nlohmann::json& answer);
  RightAnswer right_answer(const Scene& scene, const Question& question);
  /// Marks one answer: a choice or a place by its words, a number with or without a unit, a list of names, or
  /// a split file's object.
  /// Null: not answered. Never throws for what the answer holds.
  Marked mark(const Scene& scene, const Question& question, const nlohmann::json& answer);
  /// Marks an answers file's {"answers": {ID: value}}. Throws a request Error if it is not that.
  Marks mark(const nlohmann::json& answers, const std::string& source);

  /// The evidence that a scene's expressions read.
  std::shared_ptr<Evidence> evidence_of(const SceneState& state);

 private:
  Surroundings surroundings(const SceneState& state);
  /// Of an Order: any of these is right.
  std::vector<Ordered> orders_of(const Scene& scene, const Question& question);
  void mark_cut(const Scene& scene, const Question& question, const nlohmann::json& answer, Marked& marked);

  const Lesson& lesson_;
  Drawn drawn_;
  std::shared_ptr<EvidenceStore> store_;
};

/// Reads an answers file of at most 1 MiB. Throws a request Error.
nlohmann::json read_answers(const std::string& path);

nlohmann::ordered_json questions_as_json(LessonRun& run);
/// Every question with all that is right: the words that are accepted for each right candidate, the
/// conditions of a cut, and the hints.
nlohmann::ordered_json right_answers_as_json(LessonRun& run);
nlohmann::ordered_json marks_as_json(const Marks& marks);
nlohmann::ordered_json marks_for_gradescope(const Marks& marks);
/// No points, and why: what Gradescope shows a student whose answers cannot be read.
nlohmann::ordered_json no_marks_for_gradescope(const std::string& why);

/// A unit of a Number: what one of it is in the unit of the expression.
struct LessonUnit {
  const char* name;
  double factor;
};
std::vector<LessonUnit> lesson_units();

}  // namespace shardlens
