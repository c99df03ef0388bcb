// A lesson of one scene, small enough to be parsed, run and marked many times.
#pragma once

#include <string>

#include "engine/lesson/parse.h"

namespace shardlens::testing {

inline const std::string kHead =
    "+++\n"
    "title = \"T\"\n"
    "asks = \"Why?\"\n"
    "minutes = 5\n"
    "[run]\n"
    "hidden = 96\n"
    "heads = 12\n"
    "block = \"mlp\"\n"
    "tp = 4\n"
    "batch = 1\n"
    "seq = 8\n"
    "+++\n";

/// The head and one scene of these blocks; the scene's heading is line 13.
inline std::string lesson_text(const std::string& blocks, const std::string& head = kHead) {
  return head + "## A scene\n" + blocks;
}

inline std::string scene_block(const std::string& toml) {
  return "```scene\n" + toml + "\n```\n";
}
inline std::string question_block(const std::string& toml) {
  return "```question\n" + toml + "\n```\n";
}

/// The reason of a question that is about something else.
inline const std::string kBecause = "\nbecause = \"explain(collective(1))\"";

/// A scene with one question.
inline Lesson asking(const std::string& toml, const std::string& scene = "") {
  return parse_lesson(lesson_text((scene.empty() ? "" : scene_block(scene)) + question_block(toml)),
                      "small.md");
}

}  // namespace shardlens::testing
