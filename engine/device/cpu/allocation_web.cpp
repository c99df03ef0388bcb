// A page's malloc keeps what is freed, always, and has no caches of threads.
#include "engine/device/cpu/allocation.h"

namespace shardlens::cpu {

void keep_freed_memory() {}

void join_freed_memory() {}

}  // namespace shardlens::cpu
