// Reads lessons. A file is Markdown with a head of TOML between lines of +++; README.md in this folder has
// the whole format. Whatever a file holds, reading it ends with a lesson or with one request Error that
// begins "FILE:LINE: " and says what is wrong and what would work.
#pragma once

#include <stop_token>
#include <string>

#include "engine/lesson/lesson.h"

namespace shardlens {

inline constexpr size_t kLargestLesson = 256 * 1024;  ///< bytes
inline constexpr size_t kMostScenesOfAFile = 100;
inline constexpr size_t kMostQuestionsOfAScene = 20;

/// The id of a scene with this title: "Where do the ranks meet?" is where-do-the-ranks-meet. Empty without
/// letters and digits.
std::string scene_id(const std::string& title);

/// Parses the text of a lesson. `file` names it in messages, and its stem is the lesson's name. Plans
/// nothing: steps and tensors are not looked up yet.
Lesson parse_lesson(const std::string& text, const std::string& file);

/// Parses the head alone: a lesson without scenes. Throws as parse_lesson().
Lesson parse_lesson_head(const std::string& text, const std::string& file);

/// Checks that every step, tensor and rank that a scene or question names is in the Program planned for it,
/// for the lesson without a seed; and that every recording it names is there and can be shown. Throws a
/// request Error with file and line, and a Cancelled Error if `stop` is requested.
void check_names(const Lesson& lesson, std::stop_token stop = {});

/// Reads a file, parses it and checks its names.
Lesson read_lesson(const std::string& path, std::stop_token stop = {});

/// A scene's block. Texts in it are as given; `run` is what differs from the lesson's settings (run_keys.h).
std::string scene_as_toml(const SceneState& state);

/// What the studio writes for *Save as scene*: a heading and a scene block, to be put at the end of a lesson.
std::string scene_as_markdown(const std::string& title, const SceneState& state);

}  // namespace shardlens
