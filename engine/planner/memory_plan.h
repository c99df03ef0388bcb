// Where every tensor of a Program lies in one rank's memory, decided before the run. One arena per
// MemoryKind; a tensor holds its bytes from the step that writes it to the last step that reads it, then
// another may have them. Activations and their gradients lie in their kinds' arenas or, where they fit, in
// bytes of the weight gradients' that are free until the backward pass comes to them. No arena grows for what
// it lends. The runtime allocates exactly these arenas, so memory is known before the run and measured by the
// same names.
//
// Weight gradients lie layer by layer, and a layer's activations in those of the layer below it, which the
// backward pass writes when it is done with them: so all layers lie alike, and memory grows evenly with them,
// on which engine/cost/model_price.h builds. Only the lowest few find more, where the embedding's gradient
// comes to lie last of all.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "engine/program/program.h"

namespace shardlens {

using BytesByKind = std::array<int64_t, kMemoryKinds>;
int64_t total_bytes(const BytesByKind& bytes);

/// So many layers, from the lowest on, lie partly in the embedding's gradient: from as many layers on, memory
/// grows evenly.
inline constexpr int kLowestLayers = 3;

struct MemoryPlan {
  BytesByKind arena_bytes{};       ///< high-water per kind: what the rank allocates
  std::vector<MemoryKind> arena;   ///< per TensorId: whose arena it lies in
  std::vector<int64_t> offset;     ///< per TensorId, in that arena
  std::vector<int64_t> bytes;      ///< per TensorId, this rank's slice; 0 for a tensor that shares storage
  std::vector<StepId> first_step;  ///< per TensorId; -1: there from the start (inputs, weights)
  std::vector<StepId> last_step;   ///< per TensorId; steps.size(): kept to the end (weights, gradients)
  std::vector<BytesByKind> live_bytes;  ///< per step: bytes held while it runs, by what holds them
  BytesByKind borrowed_bytes{};  ///< per kind: most of its bytes at once that lie in another kind's arena
};

/// Liveness and first-fit places (offsets are multiples of 64 bytes) of one rank's tensors.
MemoryPlan plan_memory(const Program& program, int rank);

/// What lies in other kinds' arenas, in a sentence; empty where nothing does.
std::string explain_borrowing(const MemoryPlan& plan);

/// The tensor whose bytes `tensor` uses: itself, or the end of its chain of shared storage.
TensorId storage_of(const Program& program, TensorId tensor);

}  // namespace shardlens
