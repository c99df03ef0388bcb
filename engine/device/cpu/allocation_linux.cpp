// Settings of glibc's malloc: two thresholds, which it otherwise adapts to earlier frees, and full thread
// caches.
#include "engine/device/cpu/allocation.h"

#include <malloc.h>

#include <array>
#include <cstdlib>
#include <utility>

namespace shardlens::cpu {

void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // its maximum; tensors' arenas are larger and are given back
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

void join_freed_memory() {
  static thread_local bool done = false;
  if (std::exchange(done, true)) return;
  constexpr size_t kLaidAside = 7;              // of each size; glibc cannot change it in a running program
  constexpr size_t kStep = 16, kLargest = 264;  // more than what is cut off to align to a cache line
  for (size_t bytes = kStep + sizeof(size_t); bytes <= kLargest; bytes += kStep) {
    std::array<void*, kLaidAside> pieces;
    for (void*& piece : pieces) piece = std::malloc(bytes);
    for (void* const piece : pieces) std::free(piece);
  }
}

}  // namespace shardlens::cpu
