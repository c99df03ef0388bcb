// A run or a training that ended because of a rank: in words, as it is drawn, and the ways on. Nothing here
// draws.
#pragma once

#include <optional>
#include <string>

#include "engine/runtime/snapshot.h"
#include "engine/train/train_snapshot.h"
#include "ui/context.h"

namespace shardlens::ui {

inline constexpr double kLostAfterSeconds = 2;  ///< where a rank is lost on purpose, for people who watch

/// "rank 2 lost in all-reduce of mlp.z, step 40", or of one that failed "rank 2 failed in mlp.fc, step
/// 40"; with `replica` where there are several.
std::string fault_words(const Program& program, const RunFailure& failure);
/// The same without the ranks, for the track of one of them: "lost in all-reduce of mlp.z, step 40".
std::string fault_place(const Program& program, const RunFailure& failure);

/// The snapshot shown is of a run that a rank ended; null: it is not.
const RunFailure* shown_failure(const Snapshot& snapshot);
inline bool is_struck(const RunFailure& failure, int rank) {
  for (const int struck : failure.ranks)
    if (struck == rank) return true;
  return false;
}

/// The curve of the training that a rank ended, if one did and it was not begun once more; null: none.
const TrainCurve* failed_curve(const TrainSnapshot& train);

/// The others give the rank up before it comes.
bool is_loss(const Delay& delay, const Settings& settings);
bool can_lose_rank(const Context& context);
/// The rank that would be made late hangs before that step, and the others soon give it up.
void lose_rank(const Context& context);
/// The settings without the delays that no rank waits for, and with the time-out of before.
Settings without_losses(Settings settings, double timeout_before_seconds);
bool can_run_again(const Context& context);
void run_again(const Context& context);

bool can_restart_training(const Context& context);
/// "Restart from step 40", or "Run again".
std::string restart_words(const TrainSnapshot& train);

}  // namespace shardlens::ui
