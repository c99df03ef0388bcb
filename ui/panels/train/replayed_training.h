// The training that a recording holds, as the Train tab shows any: its metrics become steps of one curve.
#pragma once

#include <memory>

#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/train/train_snapshot.h"

namespace shardlens::ui {

/// Of a recording without a loss a TrainSnapshot without curves. Made once for each table of metrics.
std::shared_ptr<const TrainSnapshot> replayed_training(const ReplaySnapshot& replay);

}  // namespace shardlens::ui
