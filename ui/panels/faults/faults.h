// A run or a training that ended because of a rank: the words for it, and the actions to lose a rank and to
// run again. Nothing here draws.
#pragma once

#include <optional>
#include <string>

#include "engine/runtime/snapshot.h"
#include "engine/train/train_snapshot.h"
#include "ui/context.h"

namespace shardlens::ui {

inline constexpr double kLostAfterSeconds = 2;  ///< time-out of a rank lost on purpose; people watch

/// "rank 2 lost in all-reduce of mlp.z, step 40", or for a rank that failed "rank 2 failed in mlp.fc, step
/// 40". Names the replica if there are several.
std::string fault_words(const Program& program, const RunFailure& failure);
/// The same without the ranks, for the track of one of them: "lost in all-reduce of mlp.z, step 40".
std::string fault_place(const Program& program, const RunFailure& failure);

/// The failure of the shown run if a rank ended it; else null.
const RunFailure* shown_failure(const Snapshot& snapshot);
inline bool is_struck(const RunFailure& failure, int rank) {
  for (const int struck : failure.ranks)
    if (struck == rank) return true;
  return false;
}

/// The curve of a training that a rank ended and that has not started again; null if there is none.
const TrainCurve* failed_curve(const TrainSnapshot& train);

/// True if the delay reaches the time-out, so the other ranks give the late rank up.
bool is_loss(const Delay& delay, const Settings& settings);
bool can_lose_rank(const Context& context);
/// Makes the rank that delay_choice names hang before its step. The others give it up after
/// kLostAfterSeconds.
void lose_rank(const Context& context);
/// The settings without the delays that are losses, and with the time-out from before.
Settings without_losses(Settings settings, double timeout_before_seconds);
bool can_run_again(const Context& context);
void run_again(const Context& context);

bool can_restart_training(const Context& context);
/// "Restart from step 40", or "Run again".
std::string restart_words(const TrainSnapshot& train);

}  // namespace shardlens::ui
