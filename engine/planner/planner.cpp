// Plans a layer, one block of it, or the whole model as a Program.
#include "engine/planner/planner.h"

#include <algorithm>

#include "engine/config/validate.h"
#include "engine/planner/fusion.h"
#include "engine/planner/gradient_sums.h"
#include "engine/planner/modules.h"
#include "engine/planner/overlap.h"
#include "engine/planner/program_size.h"

namespace shardlens {
namespace {

TensorId block_output(Builder& b, TensorId x) {
  switch (b.settings().block) {
    case Block::Mlp:
      return mlp(b, x, "Y");
    case Block::Attention:
      return attention(b, x, "Y");
    case Block::Layer:
    case Block::Model:
      break;
  }
  return transformer_layer(b, x);
}

Program plan_layer(const Settings& settings) {
  Builder b(settings);
  const Shape shape{settings.tokens(), settings.model.hidden};
  const Layout stream = stream_layout(settings);  // the layout in which layers pass X and Y on
  const TensorId x = b.input(Role::LayerInput, "X", "X", shape, stream);
  const TensorId y = block_output(b, x);
  const TensorId dy = b.input(Role::OutputGradient, "grad.Y", "dY", shape, stream);
  b.finish(x, y, dy);
  reduce_over_ranks(b);
  return fused(b.take());
}

}  // namespace

Program plan_program(const Settings& settings) {
  validate(settings);
  if (settings.block == Block::Model) refuse_if_too_many_steps(settings, plan_program);
  Program program = settings.cache_tokens > 0        ? plan_generation(settings)
                    : settings.block == Block::Model ? plan_model(settings)
                                                     : plan_layer(settings);
  overlap_input_gradients(program);
  if (settings.overlap_chunks > 1) overlap_reductions(program, settings.overlap_chunks);
  return program;
}

Program plan_evaluation(Settings settings) {
  settings.block = Block::Model;
  settings.update = false;
  settings.dropout = 0;
  settings.recompute = Recompute::Selective;  // nothing reads the attention's probabilities: none are kept
  validate(settings);
  refuse_if_too_many_steps(settings, plan_evaluation);
  return plan_model(settings, false);
}

bool is_evaluation(const Program& program) {
  const auto has_gradients = [](const Step& step) {
    return step.phase == Phase::Backward && step.axis != Axis::Dp;
  };
  return program.settings.block == Block::Model &&
         std::none_of(program.steps.begin(), program.steps.end(), has_gradients);
}

Program plan_serial(Settings settings) {
  if (settings.vocab_ranks == 0) settings.vocab_ranks = settings.tp;
  settings.tp = settings.dp = settings.overlap_chunks = 1;
  settings.fusion = Fusion::Off;  // fused, it would lack values of sharded Programs whose steps stay apart
  return plan_program(settings);
}

}  // namespace shardlens
