// Two thresholds of glibc's, which it otherwise moves by what happened to be freed before.
#include "engine/device/cpu/allocation.h"

#include <malloc.h>

namespace shardlens::cpu {

void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most it takes; tensors' arenas are larger, and go back
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

}  // namespace shardlens::cpu
