// Keeps the selection while plans come and go: on the same step, in the part of the model that is open, and
// in view on the Stage.
#pragma once

#include <memory>
#include <utility>

#include "engine/runtime/snapshot.h"
#include "ui/view_state.h"

namespace shardlens::ui {

class SelectionFollower {
 public:
  /// Another plan: selects the step of the same name, else the one where the first collective gets its
  /// Partial input. The same plan: opens the part of the model that the selected step is in.
  void follow(const std::shared_ptr<const Plan>& plan, ViewState& view);
  /// Coming back to the Stage, a selection that changed meanwhile is brought into view.
  void follow_to_stage(const ViewState& view);

  /// Brings the selection into view in the next frames: panels take a few to find their place.
  void bring_into_view() { frames_ = kFrames; }
  /// Once per frame, before the panels.
  void begin_panels(ViewState& view);

 private:
  static constexpr int kFrames = 6;

  std::shared_ptr<const Plan> plan_;              ///< the selection belongs to it
  int frames_ = 0;                                ///< that still bring the selection into view
  bool left_stage_ = false;                       ///< another tab is in front
  std::pair<const Plan*, StepId> stage_place_{};  ///< what was selected when the Stage was last in front
};

}  // namespace shardlens::ui
