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

/// A scene's table, wherever it stands: also what an answer shows.
SceneState read_scene(const TomlValue& table, const BlockPlace& place, const std::string& what);

}  // namespace shardlens
