// A wrong answer is often right somewhere else: "2" collectives are right for row, then column. Such settings
// are looked for, so that a lesson can show what was said.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/lesson/marking.h"

namespace shardlens {

struct WhatIf {
  Settings settings;
  std::string difference;  ///< from the scene's, in words of the page: "Wfc cut by rows", "T = 8"
};

/// Looks for settings that differ in how the matrices are cut or in T alone, and in which the answer to a
/// choice or a number would be right. Only plans are made, so an answer that needs a run is not looked for.
/// Nothing if there are none.
std::optional<WhatIf> settings_where_right(LessonRun& run, const Scene& scene, const Question& question,
                                           const nlohmann::json& answer);

}  // namespace shardlens
