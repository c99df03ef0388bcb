// Where every tensor of a Program lies in one rank's memory, decided before the run. One arena per
// MemoryKind; a tensor holds its bytes from the step that writes it to the last step that reads it, then
// another may have them. The runtime allocates exactly these arenas, so memory is known before the run and
// measured by the same names.
#pragma once

#include <array>
#include <vector>

#include "engine/program/program.h"

namespace shardlens {

using BytesByKind = std::array<int64_t, kMemoryKinds>;
int64_t total_bytes(const BytesByKind& bytes);

struct MemoryPlan {
  BytesByKind arena_bytes{};       ///< high-water per kind: what the rank allocates
  std::vector<int64_t> offset;     ///< per TensorId, in the arena of its storage tensor's kind
  std::vector<int64_t> bytes;      ///< per TensorId, this rank's slice; 0 for a tensor that shares storage
  std::vector<StepId> first_step;  ///< per TensorId; -1: there from the start (inputs, weights)
  std::vector<StepId> last_step;   ///< per TensorId; steps.size(): kept to the end (weights, gradients)
  std::vector<BytesByKind> live_bytes;  ///< per step: bytes held while it runs
};

/// Liveness and first-fit offsets (multiples of 64 bytes) of one rank's tensors.
MemoryPlan plan_memory(const Program& program, int rank);

/// The tensor whose bytes `tensor` uses: itself, or the end of its chain of shared storage.
TensorId storage_of(const Program& program, TensorId tensor);

}  // namespace shardlens
