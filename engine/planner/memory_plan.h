// Places every tensor of a Program in one rank's memory, before the run. There is one arena per MemoryKind. A
// tensor holds its bytes from the step that writes it to the last step that reads it; then other tensors can
// use them. Activations and their gradients are placed in the arenas of their kinds or, if they fit, in bytes
// of weight gradients that are free until the backward pass writes them. An arena does not grow for what it
// lends. The runtime allocates exactly these arenas, so memory is known before the run and measured under the
// same names.
//
// Weight gradients are placed layer by layer. The activations of a layer borrow from the weight gradients of
// the layer below, which the backward pass writes only after it is done with those activations. So all layers
// have the same placement, and memory grows evenly with their number. engine/cost/model_price.h depends on
// that. Only the lowest few layers borrow more, from the embedding's gradient, which is written last.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "engine/program/program.h"

namespace shardlens {

using BytesByKind = std::array<int64_t, kMemoryKinds>;
int64_t total_bytes(const BytesByKind& bytes);

/// The number of lowest layers that partly borrow from the embedding's gradient. With at least this many
/// layers, memory grows evenly.
inline constexpr int kLowestLayers = 3;

struct MemoryPlan {
  BytesByKind arena_bytes{};       ///< high-water per kind: what the rank allocates
  std::vector<MemoryKind> arena;   ///< per TensorId: the kind whose arena holds it
  std::vector<int64_t> offset;     ///< per TensorId, in that arena
  std::vector<int64_t> bytes;      ///< per TensorId, this rank's slice; 0 for a tensor that shares storage
  std::vector<StepId> first_step;  ///< per TensorId; -1: there from the start (inputs, weights)
  std::vector<StepId> last_step;   ///< per TensorId; steps.size(): kept to the end (weights, gradients)
  std::vector<BytesByKind> live_bytes;  ///< per step: bytes held while it runs, by what holds them
  BytesByKind held_bytes{};             ///< per kind: the most bytes at once, in whichever arena
  BytesByKind borrowed_bytes{};         ///< per kind: how many of those are in other kinds' arenas
};

/// Computes the lifetimes and first-fit offsets (multiples of 64 bytes) of one rank's tensors.
MemoryPlan plan_memory(const Program& program, int rank);

/// Says in a sentence how much of what a rank holds lies in other kinds' arenas; empty if nothing does.
std::string explain_borrowing(const MemoryPlan& plan);

/// The tensor whose bytes `tensor` uses: itself, or the end of its chain of shared storage.
TensorId storage_of(const Program& program, TensorId tensor);

}  // namespace shardlens
