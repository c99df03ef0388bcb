// The sum of the bytes that are held, and its largest value.
#include "tests/fuzz/memory.h"

#include <atomic>

#include "tests/fuzz/watch.h"

namespace shardlens::fuzz {
namespace {

std::atomic<int64_t> held{0}, most{0};

}  // namespace

void count_allocated(int64_t bytes) {
  const int64_t now = held += bytes;
  int64_t before = most;
  while (now > before && !most.compare_exchange_weak(before, now)) {
  }
}

void count_released(int64_t bytes) {
  held -= bytes;
}

void begin_memory() {
  held = 0;
  most = 0;
}

int64_t most_bytes_held() {
  return most;
}

}  // namespace shardlens::fuzz
