// The lessons on the start page: the one that is under way, the built-in ones in teaching order, and the
// user's own.
#pragma once

#include <string>

#include "engine/lesson/built_in.h"
#include "ui/context.h"
#include "ui/lesson/lesson_view.h"
#include "ui/panels/parts.h"

namespace shardlens::ui {

/// How far a person is in a lesson, by what the lesson has now: its file may have changed since.
struct LessonShare {
  int scenes_seen = 0, questions_right = 0;
  float done = 0;  ///< of scenes and questions together
  bool begun() const { return scenes_seen > 0; }
};
LessonShare share_of(const LessonEntry& lesson, const LessonProgress& progress);
/// "12 min · 4 of 6 scenes · 3 of 5 questions right"; before it is begun "12 min · 6 scenes · 5 questions".
std::string progress_words(const LessonEntry& lesson, const LessonProgress& progress);
/// What is left: "2 scenes and 1 question are left".
std::string left_words(const LessonEntry& lesson, const LessonProgress& progress);

void draw_lessons(const Context& context, const Type& type);

}  // namespace shardlens::ui
