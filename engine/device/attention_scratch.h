// The scratch that attention needs in addition to its tensors, for each backend. The planner needs it before
// there is a device, because scratch is planned like every other buffer.
#pragma once

#include "engine/config/settings.h"
#include "engine/device/device.h"

namespace shardlens {

/// The GPU kernels keep their tiles in shared memory and in registers.
inline constexpr int64_t kGpuAttentionScratchElements = 0;

/// The wide elements of scratch that a rank needs for attention over `seq` keys and for its gradient. 0:
/// none. If the backend is not chosen yet, the largest number of any backend.
inline int64_t attention_scratch_elements(BackendChoice backend, DType dtype, int64_t seq, int64_t head_dim) {
  return backend == BackendChoice::Cuda ? kGpuAttentionScratchElements
                                        : attention_workspace_elements(dtype, seq, head_dim);
}

}  // namespace shardlens
