// Fusion: passes over the same elements that follow one another become one step, which reads and writes them
// once: a bias, the residual sum and the LayerNorm of it; a LayerNorm's gradient and the sum it joins; GeLU's
// gradient and the gradient of the bias before it. What they compute is the same to the bit, each number
// rounded where it was rounded before, so nothing but speed depends on it. (On a GPU the last bit may: there
// a product and the sum after it can be rounded once.)
//
// On GPUs a product and the GeLU of it, or GeLU's gradient of it, become one step too: what it made is still
// in registers there. See joins_gelu_to_products() for where.
#pragma once

#include "engine/program/program.h"

namespace shardlens {

/// The Program with one step in the place of those that can be one, where its settings ask for it, or as it
/// is. A sum that ends a layer stays apart from the norm that begins the
/// next one, so that a layer remains a piece of its own. Tensors that are then never written are taken out.
Program fused(Program program);

/// Whether GeLU is one step with the product before it: of Programs that are fused, for GPUs (asked for as
/// such: of BackendChoice::Auto it is not known yet where it runs, unless it was settled()), where GeLU is
/// the tanh form, which is what their libraries of products have, and where it may be rounded as coarsely as
/// 16 bits or TF32 are. How a library works out its tanh is not documented, so numbers that are good to
/// fp32's last bits stay a step of their own.
bool joins_gelu_to_products(const Settings& settings);

}  // namespace shardlens
