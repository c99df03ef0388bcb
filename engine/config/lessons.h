// Lessons that do not exist yet: the title of each, and the question it will answer. They are listed in
// assets/lessons/to_come.json; a lesson leaves the list when it exists.
#pragma once

#include <string>
#include <vector>

namespace shardlens {

struct LessonToCome {
  std::string title;
  std::string asks;  ///< the question, one sentence
};

/// Returns them in teaching order.
const std::vector<LessonToCome>& lessons_to_come();

}  // namespace shardlens
