// Lessons that are still to be made: what each will be called, and the question it will answer. They are
// named in assets/lessons/to_come.json, and leave it one by one when they are there.
#pragma once

#include <string>
#include <vector>

namespace shardlens {

struct LessonToCome {
  std::string title;
  std::string asks;  ///< the question, one sentence
};

/// In the order in which one would take them.
const std::vector<LessonToCome>& lessons_to_come();

}  // namespace shardlens
