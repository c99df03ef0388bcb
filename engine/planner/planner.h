// The planner: settings in, Program out. It decides nothing about collectives; it strings modules together
// and the layout algebra does the rest.
#pragma once

#include "engine/program/program.h"

namespace shardlens {

/// The Program of one forward and backward pass of settings.block: a whole layer (pre-LN GPT or post-LN
/// BERT), its MLP or its attention alone; of a whole model plan_model() or, with a cache, plan_generation().
/// Inputs are "X" [tokens, hidden] and "grad.Y" [tokens, hidden], the
/// gradient that arrives from the next layer; results are "Y", "grad.X" and every weight's gradient. Throws a
/// request Error when the settings are not valid (validate()).
Program plan_program(const Settings& settings);

/// The Program of a whole model (paper, section 3): embedding, layers, loss, their gradients and, with
/// settings.update, the optimizer. Inputs are tokens, positions, labels and token weights (Int32 and wide
/// floats, per part of the batch); results are "loss" [1], "hidden" and "logits", which give their bytes to
/// their gradient. Without `gradients` it ends at the loss, and the logits stay. settings are valid.
Program plan_model(const Settings& settings, bool gradients = true);

/// A pass of generation, the whole of a GPT without a loss: settings.seq new tokens of each sequence at the
/// input "positions", whose keys and values join those of the passes before in a cache of
/// settings.cache_tokens; "logits" [batch, padded vocabulary] are of the tokens that follow. Many tokens are
/// a prompt, one is the step from token to token. Programs of the same settings but for seq share weights and
/// cache. settings are valid.
Program plan_generation(Settings settings);

/// The forward pass of a whole model alone: its loss, with no gradients, no dropout and nothing kept for a
/// backward pass. Throws a request Error when the settings are not valid.
Program plan_evaluation(Settings settings);

/// True for a Program of plan_evaluation().
bool is_evaluation(const Program& program);

/// plan_program() on one rank, with the bias placed as the split places it: what sharded runs are compared
/// with.
Program plan_serial(Settings settings);

}  // namespace shardlens
