// Prices large models from small ones, and pipeline stages from their pieces.
#include "engine/cost/model_price.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/config/validate.h"
#include "engine/planner/planner.h"

namespace shardlens {
namespace {

// The costs of one part of the batch: of the first stage before the layers, of one layer, of the last stage
// after them.
struct Pieces {
  CostSum first, layer, last;
};

Pieces pieces_of(Settings settings, const Hardware& hardware) {
  settings.update = false;
  const Program program = plan_model(with_sizes(settings, 1, 1));
  const std::vector<StepCost> costs = price(program, hardware, 0);
  Pieces pieces;
  bool past_layer = false;
  Phase phase = Phase::Forward;
  for (const Step& step : program.steps) {
    if (step.axis == Axis::Dp) continue;
    if (step.phase != phase) past_layer = false;
    phase = step.phase;
    past_layer = past_layer || step.layer == 0;
    CostSum& piece = step.layer == 0                                ? pieces.layer
                     : past_layer == (step.phase == Phase::Forward) ? pieces.last
                                                                    : pieces.first;
    piece.add(step, costs[static_cast<size_t>(step.id)]);
  }
  return pieces;
}

Pipeline pipeline_of(const Settings& settings, const Hardware& hardware, int stages) {
  Pipeline pipeline;
  pipeline.stages = stages;
  pipeline.stage_layers = (settings.model.layers + stages - 1) / stages;
  if (stages == 1) return pipeline;
  const int64_t parts = settings.micro_batches;
  pipeline.bubble_fraction = static_cast<double>(stages - 1) / static_cast<double>(parts + stages - 1);
  // The residual stream is whole on every rank of a stage, and each rank sends its own copy.
  pipeline.hop_bytes = settings.tokens() * settings.model.hidden * element_bytes(settings.dtype);
  pipeline.sent_bytes = 2 * parts * pipeline.hop_bytes;
  // A stage's neighbour is T x D ranks away; all ranks of a node send at once.
  const int64_t stage_ranks = int64_t{settings.tp} * settings.dp;
  const Ring hop{2, hardware.nodes != 1 && stage_ranks * stages > hardware.ranks_per_node,
                 static_cast<int>(std::min<int64_t>(stage_ranks, hardware.ranks_per_node))};
  const LinkRate link = link_of(Collective::None, hop, hardware);
  if (link.bytes_per_second > 0)
    pipeline.hop_seconds =
        link.latency_seconds + static_cast<double>(pipeline.hop_bytes) / link.bytes_per_second;
  return pipeline;
}

void check(const Settings& settings, const Hardware& hardware, int stages) {
  validate(settings);
  if (settings.block != Block::Model)
    throw request_error("only a whole model has a price; the cost of one layer is in its plan");
  if (stages < 1 || stages > settings.model.layers)
    throw request_error(fmt::format("P = {} stages is not possible with {}. Choose from 1 to {}.", stages,
                                    counted(settings.model.layers, "layer"), settings.model.layers));
  const int64_t ranks = int64_t{settings.tp} * settings.dp * stages;
  if (hardware.most_ranks() > 0 && ranks > hardware.most_ranks())
    throw request_error(
        fmt::format("T x D x P = {} ranks, but {} has {}: choose fewer, or a preset without a "
                    "number of nodes",
                    ranks, hardware.title, hardware.most_ranks()));
}

}  // namespace

ModelPrice price_model(const Settings& settings, const Hardware& hardware, int stages) {
  check(settings, hardware, stages);
  ModelPrice price;
  price.ranks = int64_t{settings.tp} * settings.dp * stages;
  price.pipeline = pipeline_of(settings, hardware, stages);
  const int64_t layers = price.pipeline.stage_layers, parts = settings.micro_batches;
  if (stages == 1) {
    const ModelSample whole = sample_model(settings, layers, parts, hardware);
    price.sum = whole.sum;
    price.memory_bytes = whole.memory_bytes;
  } else {
    const Pieces pieces = pieces_of(settings, hardware);
    const ModelSample one_part = sample_model(settings, layers, 1, hardware);
    CostSum inner = pieces.layer;
    inner *= layers;
    price.sum = pieces.first.seconds() > pieces.last.seconds() ? pieces.first : pieces.last;
    price.sum += inner;
    price.sum *= parts;
    price.sum.update_seconds = one_part.sum.update_seconds;
    // A stage has as many parts in progress as there are stages from it to the end, and each part keeps its
    // activations.
    const ModelSample more = sample_model(settings, layers + 1, 1, hardware);
    const auto activation = static_cast<size_t>(MemoryKind::Activation);
    price.memory_bytes = one_part.memory_bytes;
    price.memory_bytes[activation] += (std::min<int64_t>(stages, parts) - 1) * layers *
                                      (more.memory_bytes[activation] - one_part.memory_bytes[activation]);
  }
  const double busy = price.sum.compute_seconds + price.sum.tp_seconds +
                      2 * static_cast<double>(parts) * price.pipeline.hop_seconds;
  if (settings.dp > 1) {
    const Program gradients = plan_model(with_sizes(settings, 1, 1));
    price.sum += replica_costs(gradients_of(gradients, shardlens::price(gradients, hardware, 0)), layers,
                               settings, hardware)
                     .sum;
  }
  if (hardware.flops(settings.dtype) > 0)  // else only a part of the time is known
    price.step_seconds =
        busy / (1 - price.pipeline.bubble_fraction) + price.sum.dp_seconds + price.sum.update_seconds;
  return price;
}

}  // namespace shardlens
