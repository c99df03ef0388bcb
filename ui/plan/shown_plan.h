// Chooses the plan and the result that are drawn.
#pragma once

#include <memory>

#include "engine/runtime/snapshot.h"

namespace shardlens::ui {

/// The result that is drawn. Null if the wanted plan is valid but cannot run on this machine: then that plan
/// is shown, not the result of an earlier run.
inline std::shared_ptr<const Result> shown_result(const Snapshot& snapshot) {
  return snapshot.only_planned() ? nullptr : snapshot.result;
}
/// The plan that is drawn: the result's, so that picture and numbers belong together even if other settings
/// are wanted by now. Without a result the wanted plan; null if there is neither.
inline std::shared_ptr<const Plan> shared_shown_plan(const Snapshot& snapshot) {
  const std::shared_ptr<const Result> result = shown_result(snapshot);
  return result ? result->plan : snapshot.plan;
}
inline const Plan* shown_plan(const Snapshot& snapshot) {
  return shared_shown_plan(snapshot).get();
}
/// The source of the shown result's figures: "measured", or for a recording "replayed" or "live".
inline const char* how_known(const Snapshot& snapshot) {
  return snapshot.result ? snapshot.result->how() : "measured";
}
/// True if the drawn result belongs to settings that are no longer wanted.
inline bool shows_stale(const Snapshot& snapshot) {
  return snapshot.stale() && !snapshot.only_planned();
}

}  // namespace shardlens::ui
