// How much memory attention needs beside its tensors: plans count it, also where nothing is computed.
#include "engine/device/cpu/attention_head.h"
#include "engine/device/device.h"

namespace shardlens {

int64_t attention_workspace_elements(DType dtype, int64_t seq, int64_t head_dim) {
  return cpu::kMaxTeam * cpu::elements_per_thread(dtype, seq, head_dim);
}

}  // namespace shardlens
