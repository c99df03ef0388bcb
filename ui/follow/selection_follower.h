// Keeps the selection when the plan changes: on the same step, in the open part of the model, and visible on
// the Stage.
#pragma once

#include <memory>
#include <utility>

#include "engine/runtime/snapshot.h"
#include "ui/view_state.h"

namespace shardlens::ui {

class SelectionFollower {
 public:
  /// Call once per frame, first. For a new plan: selects the step with the same name, else the step that
  /// makes the Partial input of the first collective. For the same plan: opens the part of the model that
  /// holds the selected step, if a part is open.
  void follow(const std::shared_ptr<const Plan>& plan, ViewState& view);
  /// When the Stage comes to the front again, scrolls to the selection if it has changed.
  void follow_to_stage(const ViewState& view);

  /// Scrolls to the selection in the next frames, because panels need a few frames to get their final places.
  void bring_into_view() { frames_ = kFrames; }
  /// Call once per frame, before the panels.
  void begin_panels(ViewState& view);

 private:
  static constexpr int kFrames = 6;

  int frames_ = 0;                                ///< frames that still scroll to the selection
  bool left_stage_ = false;                       ///< another tab is in front
  std::pair<const Plan*, StepId> stage_place_{};  ///< what was selected when the Stage was last in front
};

}  // namespace shardlens::ui
