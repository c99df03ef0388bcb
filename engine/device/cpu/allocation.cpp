// What is asked of glibc: two thresholds, which it otherwise moves by what happened to be freed before, and
// to lay no more aside for a thread.
#include "engine/device/cpu/allocation.h"

#include <malloc.h>

#include <array>
#include <cstdlib>
#include <utility>

namespace shardlens::cpu {

void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most it takes; tensors' arenas are larger, and go back
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

void join_freed_memory() {
  static thread_local bool done = false;
  if (std::exchange(done, true)) return;
  constexpr size_t kLaidAside = 7;  // of each size; there is nothing to set it with while a program runs
  constexpr size_t kStep = 16, kLargest = 264;  // more than the ends of what begins at a cache line
  for (size_t bytes = kStep + sizeof(size_t); bytes <= kLargest; bytes += kStep) {
    std::array<void*, kLaidAside> pieces;
    for (void*& piece : pieces) piece = std::malloc(bytes);
    for (void* const piece : pieces) std::free(piece);
  }
}

}  // namespace shardlens::cpu
