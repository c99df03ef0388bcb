// From settings to a Plan (Program, memory, cost), and the last gate before memory is allocated.
#pragma once

#include <memory>
#include <vector>

#include "engine/runtime/gpu_room.h"
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

/// [rank of all T x D]: bytes of its arenas.
std::vector<int64_t> arena_bytes_by_rank(const Plan& plan);

/// What is asked and left of the tightest place (tightest_demand()) where the plan's ranks keep their memory:
/// each takes `rank_bytes` [of all T x D] more, this process `host_bytes` of this machine's memory.
MemoryDemand memory_demand(const Plan& plan, const std::vector<int64_t>& rank_bytes, int64_t host_bytes);

/// Throws a request Error unless this machine can run the plan: dtype, degrees, and memory with the largest
/// size that fits. Called before anything is allocated.
void check_runnable(const Plan& plan);

/// "AMD EPYC 9B45, 2 cores"
std::string machine_description();

}  // namespace shardlens
