// A lesson in a studio without a display: its scenes, one after the other, each before and after its answers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/studio/offscreen_parts.h"
#include "engine/lesson/lesson_session.h"

namespace shardlens {

class LessonShow {
 public:
  /// Opens Options::lesson. Throws a request Error if it cannot be read.
  LessonShow(const Options& options, PixelSize size);

  const Lesson& lesson() const { return *lesson_; }
  OffscreenStudio& shown() { return shown_; }
  ui::Studio& studio() { return shown_.studio(); }

  /// Shows a scene, from 0, with none of its questions answered. Nothing plays. Throws a request Error with
  /// the lesson's file and line if an expression of it cannot be evaluated.
  std::shared_ptr<const ShownScene> show(size_t scene);
  /// Finds the right answer of a question. What is shown does not know it: only ask() reveals.
  const RightAnswer& answer(const std::string& question);
  /// Finds the values of all scenes, and all answers.
  void make_all();
  /// In front of a class: asks this question of the shown scene; or reveals its answer.
  void ask(const Question& question, bool reveals);

 private:
  std::shared_ptr<const LessonSnapshot> rest();
  void forget(const std::string& question);

  std::shared_ptr<const Lesson> lesson_;
  OffscreenStudio shown_;
  std::shared_ptr<const LessonSnapshot> now_;
  std::map<std::string, RightAnswer> answers_;  ///< those that were looked for
};

/// The options with the look that a class sees.
Options in_class(const Options& options);

/// What a class is shown of a lesson, in order.
struct Still {
  size_t scene = 0;
  int question = -1;  ///< of the scene; -1: it has none
  bool revealed = false;
};
std::vector<Still> stills_of(const Lesson& lesson);
void show(LessonShow& lesson, const Still& still);
/// How long a person needs to read what a still adds to the one before it.
double reading_seconds(LessonShow& lesson, const Still& still);

}  // namespace shardlens
