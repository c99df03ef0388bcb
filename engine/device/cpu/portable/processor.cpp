// The portable kernels use no instruction that a processor of the compiler's target could lack.
#include "engine/device/cpu/processor.h"

namespace shardlens::cpu {

void require_processor() {}

Prefetching best_prefetching() {
  return Prefetching::FarIntoSecond;  // not measured anywhere but on x86
}

}  // namespace shardlens::cpu
