// The operations of a pass over few tokens on a device that cannot do several of them at once: one after the
// other.
#pragma once

#include "engine/device/device.h"

namespace shardlens {

inline void token_product_in_parts(Device& device, const TokenProduct& op) {
  if (op.norm) device.layer_norm(*op.norm);
  device.gemm(op.product);
  if (op.sum) device.bias_add(*op.sum);
}

inline void token_attention_in_parts(Device& device, const TokenAttention& op) {
  device.cache_append(op.append);
  device.cached_attention(op.attention);
}

}  // namespace shardlens
