// Computes what a training step of a whole model costs a rank, without planning all its layers. Layers are
// alike, so two small Programs that differ by one layer give the cost of a layer, and the rest is a
// multiplication. The same holds for the micro-batches. The figures are exactly those of the whole plan, with
// one exception: how activations and their gradients are packed into an arena may differ by two percent of a
// rank's memory. So a model of a trillion parameters is priced as quickly as a toy. Pipeline stages exist
// only here; the engine does not run them.
#pragma once

#include "engine/cost/model_sample.h"

namespace shardlens {

/// Layers divided among P stages that work on different parts of the batch at the same time. With m parts and
/// P stages a stage is idle (P-1)/(m+P-1) of the time, while the pipeline fills and drains.
struct Pipeline {
  int stages = 1;
  int64_t stage_layers = 0;  ///< of the fullest stage
  double bubble_fraction = 0;
  int64_t hop_bytes =
      0;  ///< sent by each rank to the next stage for a part: activations, and as much back as gradients
  int64_t sent_bytes = 0;  ///< by each rank of an inner stage in a step, both directions
  double hop_seconds = 0;  ///< one way, estimated
};

struct ModelPrice {
  CostSum sum;  ///< rank 0 of the slowest stage, a whole step, no bubble
  Pipeline pipeline;
  double step_seconds = 0;   ///< estimated: sum, hops and bubble; nothing overlaps, as in the paper's system
  BytesByKind memory_bytes;  ///< rank 0 of the fullest stage: planned; with stages an upper estimate, because
                             ///< each stage is counted with both ends of the model
  int64_t ranks = 1;         ///< T x D x P
};

/// Prices a training step of `settings`, a whole model, in `stages` pipeline stages. Throws a request Error
/// if the settings are not valid, if there are more stages than layers, or if the hardware preset has too few
/// places for the ranks.
ModelPrice price_model(const Settings& settings, const Hardware& hardware, int stages = 1);

}  // namespace shardlens
