// Which steps are joined follows from their operations and from the tensors that lie between them.
#include "engine/program/joined_steps.h"

#include "engine/program/few_tokens.h"

namespace shardlens {
namespace {

bool reads(const Program& program, const Step& step, Operand operand) {
  return input_place(program, step, operand).has_value();
}

}  // namespace

bool joins(const Program& program, const Step& step, const Step& next) {
  const Settings& settings = program.settings;
  if (settings.cache_tokens == 0 || settings.tokens() > kFewTokens) return false;
  const auto leads_to = [&](Operand operand) { return input_of(program, next, operand) == step.outputs[0]; };
  if (step.op == Op::LayerNorm && next.op == Op::Linear)
    return leads_to(Operand::X) && !next.attributes.transposed;
  if (step.op == Op::Linear && next.op == Op::BiasAdd)
    return leads_to(Operand::X) && reads(program, next, Operand::Addend) && !next.attributes.one_rank;
  return step.op == Op::CacheAppend && next.op == Op::CachedAttention && settings.seq == 1;
}

StepId last_joined(const Program& program, const Step& step) {
  StepId last = step.id;
  while (static_cast<size_t>(last) + 1 < program.steps.size() &&
         joins(program, program.step(last), program.step(last + 1)))
    ++last;
  return last;
}

}  // namespace shardlens
