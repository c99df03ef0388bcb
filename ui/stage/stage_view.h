// The state of the Stage: whether its rows are fitted into the panel, and where it was before.
#pragma once

#include <imgui.h>

#include <optional>

#include "engine/program/program.h"

namespace shardlens::ui {

/// Neighbouring steps, the last one included.
struct StageStretch {
  StepId first = 0, last = 0;
};

struct StageView {
  bool fitted = false;    ///< F: all rows are visible at once, in a panel of any size
  float zoom_before = 1;  ///< of the Stage before it was fitted
  ImVec2 scroll_before{0, 0};
  std::optional<StageStretch> only;  ///< a figure shows these steps; none: all
  bool goes_back = false;            ///< in this frame: scroll to where it was before
};

}  // namespace shardlens::ui
