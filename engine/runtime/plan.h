// Makes a Plan (Program, memory, cost) from settings, and makes the last check before memory is allocated.
#pragma once

#include <memory>
#include <vector>

#include "engine/runtime/gpu_room.h"
#include "engine/runtime/snapshot.h"

namespace shardlens {

/// Plans `settings`. Nothing is allocated and nothing runs, so any size is possible. Throws a request Error
/// if the settings are not valid; this includes their delays (plan_delays()).
std::shared_ptr<const Plan> make_plan(const Settings& settings);

/// Makes a Plan of a Program that was not planned from settings here, or was changed afterwards (a planted
/// fault, one rank to compare with). Memory and cost follow the Program. It has no delays, also if its
/// settings name some.
std::shared_ptr<const Plan> make_plan(Program program);

/// FLOPs of the model's matrix products in one pass, all ranks and replicas together, without the masked half
/// of attention and without what runs a second time (activation checkpointing).
int64_t model_flops(const Plan& plan);

/// Bytes that all ranks of a run need together: the planned arenas.
int64_t run_bytes(const Plan& plan);

/// [world rank, of T x D]: bytes of its arenas.
std::vector<int64_t> arena_bytes_by_rank(const Plan& plan);

/// Bytes needed and free at the tightest place (tightest_demand()) where the plan's ranks keep their memory.
/// Each rank takes `rank_bytes` [world rank, of T x D] more, and this process `host_bytes` of this machine's
/// memory.
MemoryDemand memory_demand(const Plan& plan, const std::vector<int64_t>& rank_bytes, int64_t host_bytes);

/// Throws a request Error unless this machine can run the plan: checks dtype, degrees, and memory; the
/// message names the largest size that fits. Called before anything is allocated.
void check_runnable(const Plan& plan);

/// "AMD EPYC 9B45, 2 cores"
std::string machine_description();
/// The same for the machine that runs these settings. If ranks compute on GPUs, their cards come first:
/// "NVIDIA H200, AMD EPYC 9B45, 2 cores".
std::string machine_description(const Settings& settings, const GpuFacts& facts);
std::string machine_description(const Settings& settings);

}  // namespace shardlens
