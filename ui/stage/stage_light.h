// What a scene of a lesson lights on the Stage, and the words that it puts beside rows.
#pragma once

#include <string>
#include <vector>

namespace shardlens::ui {

/// Names are those of a lesson: a step, a tensor, or "rank 2".
struct StageCallout {
  std::string at;
  std::string text;
  bool operator==(const StageCallout&) const = default;
};

/// Kept by ViewState::of(). Empty: nothing is dimmed.
struct StageLight {
  std::vector<std::string> lit;
  std::vector<StageCallout> callouts;
  bool operator==(const StageLight&) const = default;
};

}  // namespace shardlens::ui
