// Counts memory where there is no sanitizer: what operator new gives, and not what a library takes from
// malloc.
#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "tests/fuzz/watch.h"

namespace shardlens::fuzz {
namespace {

std::atomic<int64_t> held{0}, most{0};

void add(int64_t bytes) {
  const int64_t now = held += bytes;
  int64_t before = most;
  while (now > before && !most.compare_exchange_weak(before, now)) {
  }
}

}  // namespace

void* counted_new(size_t bytes) {
  void* const data = std::malloc(bytes == 0 ? 1 : bytes);
  if (data == nullptr) throw std::bad_alloc();
  add(static_cast<int64_t>(malloc_usable_size(data)));
  return data;
}

void counted_delete(void* data) {
  if (data != nullptr) held -= static_cast<int64_t>(malloc_usable_size(data));
  std::free(data);
}

void watch_memory() {}

void begin_memory() {
  held = 0;
  most = 0;
}

int64_t most_bytes_held() {
  return most;
}

}  // namespace shardlens::fuzz

void* operator new(size_t bytes) {
  return shardlens::fuzz::counted_new(bytes);
}
void operator delete(void* data) noexcept {
  shardlens::fuzz::counted_delete(data);
}
void operator delete(void* data, size_t) noexcept {
  shardlens::fuzz::counted_delete(data);
}
