// What attention needs beside its tensors, by what it is computed on: known before there is a device, because
// it is planned like every other buffer.
#pragma once

#include "engine/config/settings.h"
#include "engine/device/device.h"

namespace shardlens {

/// A GPU's kernels hold their tiles in a block's shared memory and in registers.
inline constexpr int64_t kGpuAttentionScratchElements = 0;

/// Wide elements a rank needs for attention over `seq` keys and for its gradient, 0: none. Where it is not
/// settled yet what the ranks will compute on, as many as the most that it may come to.
inline int64_t attention_scratch_elements(BackendChoice backend, DType dtype, int64_t seq, int64_t head_dim) {
  return backend == BackendChoice::Cuda ? kGpuAttentionScratchElements
                                        : attention_workspace_elements(dtype, seq, head_dim);
}

}  // namespace shardlens
