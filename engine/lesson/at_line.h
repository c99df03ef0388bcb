// Evaluates an expression of a lesson file, so that what goes wrong gets the file and the line.
#pragma once

#include "engine/lesson/lesson.h"

namespace shardlens {

template <class Evaluate>
auto at_line(const Lesson& lesson, int line, const Evaluate& evaluate) {
  try {
    return evaluate();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Request) throw;
    throw lesson_error(lesson.source, line, error.what());
  }
}

/// Throws a lesson_error for the question if its answer is no yes or no.
bool is_yes(const Value& value, const Question& question, const Lesson& lesson);

}  // namespace shardlens
