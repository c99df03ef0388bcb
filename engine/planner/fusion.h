// Fusion joins consecutive passes over the same elements into one step, which reads and writes them once. It
// joins: a bias, the residual sum and its LayerNorm; a LayerNorm's gradient and the sum that follows; GeLU's
// gradient and the gradient of the bias before GeLU. The result is the same to the bit, because each number
// is rounded where it was rounded before. Only the speed changes. (On a GPU the last bit can differ: there a
// product and the sum after it can be rounded once.)
//
// On GPUs a product and its GeLU, or a product and GeLU's gradient of it, become one step too: the product is
// still in registers there. joins_gelu_to_products() says when. So do the gradients of a weight and of the
// bias of the same product, which read the same dY: joins_bias_gradients_to_products().
#pragma once

#include "engine/program/program.h"

namespace shardlens {

/// Returns the Program with fused steps if its settings ask for fusion, otherwise unchanged. A sum that ends
/// a layer is not fused with the norm that begins the next layer, so that the steps of a layer stay together.
/// Tensors that are no longer written are removed.
Program fused(Program program);

/// True if a bias gradient is fused with the weight gradient of its product. All of these must hold. The
/// Program is fused. The backend is CUDA. The elements have 16 bits: in which order a library adds the rows
/// is not documented.
bool joins_bias_gradients_to_products(const Settings& settings);

/// True if GeLU is fused with the product before it. All of these must hold. The Program is fused. The
/// backend is CUDA: for BackendChoice::Auto the device is not known until the settings are settled(). GeLU is
/// the tanh form, which is what the GPU libraries of products have. Its numbers may be as coarse as 16 bits
/// or TF32: a library does not document how it computes tanh, so numbers that are exact to fp32's last bits
/// keep GeLU as a step of its own.
bool joins_gelu_to_products(const Settings& settings);

}  // namespace shardlens
