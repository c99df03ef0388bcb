// The planner makes a Program from settings. It decides nothing about collectives: it calls the modules in
// order, and the layout algebra does the rest.
#pragma once

#include "engine/program/program.h"

namespace shardlens {

/// The Program of one forward and backward pass of settings.block: a whole layer (pre-LN GPT or post-LN
/// BERT), its MLP alone or its attention alone. For a whole model it is that of plan_model() or, with a
/// cache, of plan_generation(). Inputs are "X" [tokens, hidden] and "grad.Y" [tokens, hidden], the gradient
/// that arrives from the next layer. Results are "Y", "grad.X" and every weight's gradient. Throws a request
/// Error if the settings are not valid (validate()), or if there would be too many steps (program_size.h).
Program plan_program(const Settings& settings);

/// The Program of a whole model (paper, section 3): embedding, layers, loss, their gradients and, with
/// settings.update, the optimizer. Inputs are tokens, positions, labels and token weights (Int32 and wide
/// floats, per part of the batch). Results are "loss" [1], "hidden" and "logits"; the gradient of the logits
/// overwrites them. Without `gradients` the Program ends at the loss, and the logits stay. The settings must
/// be valid.
Program plan_model(const Settings& settings, bool gradients = true);

/// A pass of generation: a whole GPT without a loss. It takes settings.seq new tokens of each sequence at the
/// input "positions". Their keys and values are appended to those of earlier passes, in a cache of
/// settings.cache_tokens. "logits" [batch, padded vocabulary] are those of the tokens that follow. Many
/// tokens are a prompt; one token is a step of generation. Programs whose settings differ only in seq share
/// weights and cache. The settings must be valid.
Program plan_generation(Settings settings);

/// Only the forward pass of a whole model: its loss, with no gradients and no dropout. Keeps nothing for a
/// backward pass. Throws a request Error if the settings are not valid.
Program plan_evaluation(Settings settings);

/// True for a Program of plan_evaluation().
bool is_evaluation(const Program& program);

/// plan_program() on one rank, not fused, with the bias placed as the split places it. Sharded runs are
/// compared with it.
Program plan_serial(Settings settings);

}  // namespace shardlens
