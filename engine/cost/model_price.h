// What a training step of a whole model costs a rank, without planning all its layers. The idea: layers are
// alike, so two small Programs that differ by one layer say what a layer costs, and the rest is a
// multiplication; the same holds for the parts of a batch. The figures are those of the whole plan, exactly
// (but for how activations and their gradients are packed into an arena, where two percent of a rank's memory
// are left open), so a model of a trillion parameters is priced as quickly as a toy. Pipeline stages, which
// the engine does not run, are known here alone.
#pragma once

#include "engine/cost/model_sample.h"

namespace shardlens {

/// Layers dealt to P stages that work on different parts of the batch at the same time. Of m parts and P
/// stages a stage is idle (P-1)/(m+P-1) of the time, while the pipeline fills and drains.
struct Pipeline {
  int stages = 1;
  int64_t stage_layers = 0;  ///< of the fullest stage
  double bubble_fraction = 0;
  int64_t hop_bytes =
      0;  ///< each rank sends to the next stage, a part: activations, and as much back as gradients
  int64_t sent_bytes = 0;  ///< each rank of an inner stage in a step, both directions
  double hop_seconds = 0;  ///< one way, estimated
};

struct ModelPrice {
  CostSum sum;  ///< rank 0 of the slowest stage, a whole step, no bubble
  Pipeline pipeline;
  double step_seconds = 0;   ///< estimated: sum, hops and bubble; nothing overlaps, as in the paper's system
  BytesByKind memory_bytes;  ///< rank 0 of the fullest stage: planned; with stages estimated from above, as
                             ///< each is counted with both ends of the model
  int64_t ranks = 1;         ///< T x D x P
};

/// A training step of `settings`, a whole model, in `stages` pipeline stages. Throws a request Error when the
/// settings are not valid, there are more stages than layers, or the preset has too few places.
ModelPrice price_model(const Settings& settings, const Hardware& hardware, int stages = 1);

}  // namespace shardlens
