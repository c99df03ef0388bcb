// Counts memory by the sanitizer's hooks.
#include <atomic>
#include <cstddef>

#include "tests/fuzz/watch.h"

// Of the sanitizer's runtime. GCC brings them without their header.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void*, size_t),
                                                         void (*released)(const volatile void*));
extern "C" size_t __sanitizer_get_allocated_size(const volatile void* data);

namespace shardlens::fuzz {
namespace {

std::atomic<int64_t> held{0}, most{0};

void add(int64_t bytes) {
  const int64_t now = held += bytes;
  int64_t before = most;
  while (now > before && !most.compare_exchange_weak(before, now)) {
  }
}

void allocated(const volatile void*, size_t bytes) {
  add(static_cast<int64_t>(bytes));
}

void released(const volatile void* data) {
  if (data != nullptr) held -= static_cast<int64_t>(__sanitizer_get_allocated_size(data));
}

}  // namespace

void watch_memory() {
  __sanitizer_install_malloc_and_free_hooks(allocated, released);
}

void begin_memory() {
  held = 0;
  most = 0;
}

int64_t most_bytes_held() {
  return most;
}

}  // namespace shardlens::fuzz
