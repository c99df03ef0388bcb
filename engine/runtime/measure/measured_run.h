// Runs a plan on this machine until its time is reliable: one pass that warms up and may have observers, then
// a few without observers, of which the fastest counts.
#pragma once

#include <memory>
#include <stop_token>
#include <vector>

#include "engine/base/job.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/step_times.h"

namespace shardlens {

/// How a plan is measured.
struct RunWish {
  int passes = 3;             ///< after the first
  std::stop_token stop = {};  ///< gives the run up, which then throws a Cancelled Error
};

struct MeasuredRun {
  TimeComparison times;                        ///< of the fastest pass
  std::vector<std::vector<StepEvent>> events;  ///< [rank of the first replica][step], of the same pass
  std::vector<double> pass_seconds;            ///< ascending
  std::vector<BytesByKind> high_water_bytes;   ///< [rank of the first replica]
  CommunicatorInfo communicator;
};

/// Runs the plan; `observers` see the first pass. Throws what check_runnable() and the run throw.
Job<MeasuredRun> measure_in_pieces(std::shared_ptr<const Plan> plan,
                                   std::vector<std::shared_ptr<StepObserver>> observers, RunWish wish);

/// Runs one pass, only for its observers.
Job<> observe_in_pieces(std::shared_ptr<const Plan> plan,
                        std::vector<std::shared_ptr<StepObserver>> observers, RunWish wish);

}  // namespace shardlens
