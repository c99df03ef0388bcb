// Shows the run of a planted mistake in every panel, in place of the run of the settings. The settings stay:
// Bar and Setup go on showing and changing them.
#pragma once

#include <memory>
#include <tuple>

#include "engine/runtime/snapshot.h"
#include "engine/train/experiments/break_snapshot.h"
#include "ui/view_state.h"

namespace shardlens::ui {

class BrokenRun {
 public:
  /// Returns the snapshot of the side of the mistake's run that the view asks for; null if `own`, the run of
  /// the settings, is to be shown.
  std::shared_ptr<const Snapshot> shown(const BreakSnapshot& breaks,
                                        const std::shared_ptr<const Snapshot>& own, ViewState& view);
  /// When a mistake's run is shown for the first time: selects the first wrong tensor. Call it after the
  /// selection has followed the plan.
  void select_start(const BreakSnapshot& breaks, const Snapshot& shown, ViewState& view);

 private:
  std::shared_ptr<const Snapshot> own_, made_;  ///< the last one made, and of which settings
  std::shared_ptr<const Plan> started_;         ///< the plan whose start was selected
};

}  // namespace shardlens::ui
