// What a process of a run reports about itself at the start: its build, its options, its processor and what
// it can use. The first process compares them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/comm/departed.h"
#include "engine/comm/packets.h"
#include "engine/comm/processes.h"
#include "engine/device/gpu_facts.h"

namespace shardlens {

struct JoinRequest;

using ProcessCores = std::array<uint64_t, 16>;  ///< bit by bit: the cores that a process may use
int count_of(const ProcessCores& cores);

struct ProcessIntroduction {
  std::string version, host;
  std::string machine;  ///< an id that is equal for all processes that the same clock times
  std::string kernels;  ///< the instructions that its matrix products use
  ProcessCores cores{};
  std::vector<std::string> options;
  GpuFacts gpus;
  ProcessIdentity identity;
};

/// Returns what this process reports.
ProcessIntroduction introduction(const Processes& processes, const JoinRequest& request);

Packet to_packet(const ProcessIntroduction& self);
ProcessIntroduction take_introduction(Packet& packet);

/// Writes the facts about GPUs that a choice needs, and that show how much room the GPUs have; and reads
/// them.
void put_gpus(Packet& packet, const GpuFacts& facts);
GpuFacts take_gpus(Packet& packet);

/// Returns what differs between two processes but must be equal; empty if nothing does.
std::string difference(const ProcessIntroduction& first, int process, const ProcessIntroduction& other);

/// Returns how the processors differ, for ProcessWorld::info(); empty if they do not. Processors that
/// multiply with other instructions may round differently. Then a Replicated tensor may differ between ranks
/// in the last bits.
std::string unlike_processors(const std::vector<ProcessIntroduction>& all);

}  // namespace shardlens
