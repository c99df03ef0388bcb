// The training in a recording, in the form that the Train tab shows: its metrics become the steps of one
// curve.
#pragma once

#include <memory>

#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/train/train_snapshot.h"

namespace shardlens::ui {

/// Has no curves if the recording has no loss. Computed once for each table of metrics.
std::shared_ptr<const TrainSnapshot> replayed_training(const ReplaySnapshot& replay);

}  // namespace shardlens::ui
