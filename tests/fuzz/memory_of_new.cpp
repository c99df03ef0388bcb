// Counts memory where there is no sanitizer: what operator new gives, and not what a library takes from
// malloc.
#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <new>

#include "tests/fuzz/memory.h"
#include "tests/fuzz/watch.h"

namespace shardlens::fuzz {

void watch_memory() {}  // it is always counted

}  // namespace shardlens::fuzz

void* operator new(size_t bytes) {
  void* const data = std::malloc(bytes == 0 ? 1 : bytes);
  if (data == nullptr) throw std::bad_alloc();
  shardlens::fuzz::count_allocated(static_cast<int64_t>(malloc_usable_size(data)));
  return data;
}
void operator delete(void* data) noexcept {
  if (data != nullptr) shardlens::fuzz::count_released(static_cast<int64_t>(malloc_usable_size(data)));
  std::free(data);
}
void operator delete(void* data, size_t) noexcept {
  operator delete(data);
}
