// A lesson as data: scenes, each with a text, a state of the studio and questions. It is read from a Markdown
// file (parse.h; README.md is the page for authors). Nothing in a lesson is an answer: texts, answers and
// reasons hold expressions, and a plan or a run made there and then gives their values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/config/settings.h"
#include "engine/laboratory/by_hand.h"
#include "engine/lesson/expression.h"
#include "engine/lesson/toml.h"
#include "engine/program/fault.h"

namespace shardlens {

/// Some words of one style.
struct LessonSpan {
  Template text;
  bool strong = false;
  bool emphasis = false;
  bool code = false;
};

struct LessonParagraph {
  enum class Kind { Plain, Bullet, Numbered, Quote, Code };
  Kind kind = Kind::Plain;
  int number = 0;  ///< of a Numbered one
  std::vector<LessonSpan> spans;
};

struct LessonText {
  std::vector<LessonParagraph> paragraphs;
  int words = 0;  ///< an expression counts as one
  bool empty() const { return paragraphs.empty(); }
};

/// Settings that differ from others, as the file states them: key and value, in the file's order. The keys
/// are those of run_keys.h.
struct RunChange {
  TomlValue table;  ///< a table; empty: nothing differs
  bool empty() const { return table.entries().empty(); }
};

struct Callout {
  std::string at;  ///< a step, tensor or rank
  Template text;
  int line = 0;
};

/// A second run beside the first.
struct SceneComparison {
  std::vector<std::string> splits;  ///< named splits beside each other
  std::string recording;            ///< or a recording that is held against the scene's own
};

/// One number of a result, opened in a product's page: its row and column in the full result.
struct SceneNumber {
  int64_t row = 0;
  int64_t col = 0;
};

/// What a scene trains: its model; or that twice, with the norm after each sum and before each block.
enum class SceneTraining { Model, Norms };
std::string to_string(SceneTraining training);  ///< "model", "norms"
SceneTraining parse_scene_training(const std::string& text);

/// A state of the studio: what a person could set by hand, and nothing else. What a scene does not state is
/// as the studio would have it at the start of a lesson.
struct SceneState {
  RunChange run;                       ///< settings that differ from the lesson's
  std::string view;                    ///< a tab: lesson_views(); empty: the Stage
  std::string page;                    ///< of the view; empty: its first
  std::string select;                  ///< a step or tensor
  std::optional<int> rank;             ///< the selected rank; none: all alike
  std::optional<double> zoom;          ///< of the Stage; 1 is its usual size
  bool fit = false;                    ///< all rows of the Stage are visible at once
  std::vector<std::string> spotlight;  ///< steps, tensors and ranks; all else is dimmed
  std::vector<Callout> callouts;
  std::optional<Fault> mistake;           ///< planted
  std::optional<SceneTraining> train;     ///< on the page "curves"
  std::optional<int64_t> training_steps;  ///< of `train`; with a mistake: trained for so long; 0: one pass
  std::string recording;                  ///< a path, or "gallery:NAME"
  std::optional<double> moment;           ///< of the recording, in seconds
  std::optional<SceneComparison> compare;
  std::optional<SceneNumber> number;     ///< on the page "number"
  std::optional<int> hop;                ///< on the page "collective": so many hops are done
  std::string operation;                 ///< on the page "algebra": an experiment's name; empty: the first
  std::optional<int> way;                ///< of the operation, as the page lists them: from 0
  std::optional<lab::HandForm> by_hand;  ///< on the page "by-hand": numbers, cuts and a mistake
  std::string run_to;                    ///< the run stops after this step; empty: it runs to its end
  bool play = false;                     ///< the selection walks, or the recording plays
  std::vector<std::string> panels;       ///< "setup", "inspector", "timeline": beside the page, also in class
  int line = 0;
};

enum class QuestionKind { Choice, Number, Point, Order, Cut };
std::string to_string(QuestionKind kind);  ///< "choice", "number", "point", "order", "cut"
QuestionKind parse_question_kind(const std::string& text);

/// What is to be pointed at.
enum class PointAt { Step, Tensor, Rank, Bar };
std::string to_string(PointAt at);  ///< "step", "tensor", "rank", "bar"
PointAt parse_point_at(const std::string& text);

inline constexpr size_t kMostChoices = 9;  ///< of a question

struct LessonChoice {
  Template text;
  ExpressionPtr right;              ///< is it right? Null: the question's answer decides
  std::optional<SceneState> shows;  ///< what who chose it is shown: what was said, run
};

/// A part of what a Cut must do.
struct LessonCondition {
  ExpressionPtr right;  ///< does the cut do it?
  Template wrong;       ///< said if not; empty: the expression is
};

/// What is said to a known wrong answer.
struct LessonHint {
  ExpressionPtr at;  ///< a number, or what names a choice, step, tensor or rank; a list: each of them
  Template text;
  int line = 0;
};

struct Question {
  std::string id;  ///< "where-do-the-ranks-meet/1"
  QuestionKind kind = QuestionKind::Choice;
  Template ask;
  std::vector<LessonChoice> choices;  ///< of a Choice
  PointAt at = PointAt::Step;         ///< of a Point
  std::vector<std::string> items;     ///< of an Order: steps or tensors, as the file lists them
  std::string unit;                   ///< of a Number: lesson_units()
  double tolerance = 0;               ///< of a Number: relative, 0.01 is one percent
  /// Any of them is right. Empty for a Choice whose choices say themselves whether they are right, and for a
  /// Cut.
  std::vector<ExpressionPtr> answers;
  std::vector<LessonHint> hints;            ///< of all but a Cut
  std::vector<LessonCondition> conditions;  ///< of a Cut: it must do all of them
  Template because;                         ///< shown after the answer
  std::optional<SceneState> shows;          ///< shown after the answer
  double points = 1;
  int line = 0;
};

/// True if the question is about what a function of functions.h gives: its answer is that value, or a choice
/// is right by it. A formula of it is another question: who computes a ratio may read both numbers.
bool asks_for(const Question& question, std::string_view function);

struct Scene {
  std::string title;
  std::string id;  ///< the title in small letters with hyphens, unique in the lesson
  LessonText text;
  LessonText notes;  ///< for who teaches
  SceneState state;
  std::vector<Question> questions;
  int line = 0;
};

/// A name and the values that a seed chooses among. A name that is a key of run_keys.h changes the run.
struct Draw {
  std::string name;
  std::vector<TomlValue> values;
  int line = 0;
};

struct Lesson {
  std::string name;    ///< the file's, without its ending: "column-then-row"
  std::string source;  ///< the file, for messages
  std::string title;
  std::string asks;  ///< the question that it answers
  int minutes = 0;
  std::vector<std::string> sources;
  RunChange run;  ///< from the defaults of lesson_defaults()
  std::vector<Draw> draws;
  std::vector<Scene> scenes;

  int question_count() const;
  const Question* find_question(const std::string& id) const;
};

/// What a seed chose: the value of every Draw, by name.
struct Drawn {
  std::optional<uint64_t> seed;
  std::map<std::string, TomlValue> values;
};

inline constexpr int kMostWordsOfAScene = 60;
inline constexpr size_t kMostScenes = 12;  ///< of a built-in lesson

}  // namespace shardlens
