// Checks a whole lesson, for authors and for the tests: every scene is planned and, where an expression asks
// for it, run; every answer is found and marked right, and a wrong one wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/lesson/lesson.h"

namespace shardlens {

struct LessonProblem {
  std::string where;  ///< "column-then-row.md:31"
  std::string what;
};

struct SceneTime {
  std::string scene;
  double seconds = 0;
};

struct LessonCheck {
  std::vector<LessonProblem> problems;
  std::vector<SceneTime> scenes;
  int questions = 0;
  bool holds() const { return problems.empty(); }
};

inline constexpr double kMostSecondsOfAScene = 5;

/// Checks the lesson without a seed and with each of `seeds`.
LessonCheck check_lesson(const Lesson& lesson, const std::vector<uint64_t>& seeds);

}  // namespace shardlens
