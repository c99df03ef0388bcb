// A run as long work in pieces (engine/base/job.h).
#pragma once

#include "engine/base/job.h"
#include "engine/runtime/executor.h"

namespace shardlens {

/// Executor::wait() in pieces of kPieceSeconds: done when all ranks stand still, and throws what wait()
/// throws. `executor` must outlive it.
inline Job<> stand_still(Executor& executor) {
  while (!executor.wait_for(kPieceSeconds)) co_await GiveWay();
}

/// Runs the steps that are left of the present pass.
inline Job<> run_to_end(Executor& executor) {
  executor.start(executor.steps());
  co_await stand_still(executor);
}

}  // namespace shardlens
