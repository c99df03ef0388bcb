// Reads the fenced blocks of a lesson file: scenes and questions.
#pragma once

#include <string>

#include "engine/lesson/lesson.h"

namespace shardlens {

/// Where a block stands.
struct BlockPlace {
  const std::string& file;
  int first_line;
  const Names& own_names;  ///< names that the lesson draws
};

SceneState read_scene(const std::string& toml, const BlockPlace& place);
Question read_question(const std::string& toml, const BlockPlace& place);

/// What the page "by hand" shows, and such a table. What is not stated is as the page begins.
lab::HandForm read_by_hand(const TomlValue& table, const std::string& file);
std::string by_hand_as_toml(const lab::HandForm& form);

/// A scene's table, wherever it stands: also what an answer shows.
SceneState read_scene(const TomlValue& table, const BlockPlace& place, const std::string& what);

}  // namespace shardlens
