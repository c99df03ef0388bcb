// From settings to a Plan (Program, memory, cost), and the last gate before memory is allocated.
#pragma once

#include <memory>

#include "engine/runtime/snapshot.h"

namespace shardlens {

/// Plans `settings`: nothing is allocated and nothing runs, so any size may be asked about. Throws a request
/// Error when the settings are not valid, their delays (plan_holds()) included.
std::shared_ptr<const Plan> make_plan(const Settings& settings);

/// A Plan of a Program that was made or changed by other hands (a planted fault, one rank to compare with):
/// memory and cost follow it. Nobody is late in it, whatever its settings say.
std::shared_ptr<const Plan> make_plan(Program program);

/// FLOPs of the model's matrix products in one pass, all ranks and replicas together: the masked half of
/// attention and what is run a second time (activation checkpointing) left out.
int64_t model_flops(const Plan& plan);

/// Bytes all ranks of a run need together in this process: the planned arenas.
int64_t run_bytes(const Plan& plan);

/// Throws a request Error unless this machine can run the plan: dtype, degrees, and memory with the largest
/// size that fits. Called before anything is allocated.
void check_runnable(const Plan& plan);

/// "AMD EPYC 9B45, 2 cores"
std::string machine_description();

}  // namespace shardlens
