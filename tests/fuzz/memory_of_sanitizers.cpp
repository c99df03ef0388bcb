// Counts memory by the sanitizer's hooks.
#include <cstddef>

#include "tests/fuzz/memory.h"
#include "tests/fuzz/watch.h"

// Of the sanitizer's runtime. GCC brings them without their header.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void*, size_t),
                                                         void (*released)(const volatile void*));
extern "C" size_t __sanitizer_get_allocated_size(const volatile void* data);

namespace shardlens::fuzz {
namespace {

void allocated(const volatile void*, size_t bytes) {
  count_allocated(static_cast<int64_t>(bytes));
}

void released(const volatile void* data) {
  if (data != nullptr) count_released(static_cast<int64_t>(__sanitizer_get_allocated_size(data)));
}

}  // namespace

void watch_memory() {
  __sanitizer_install_malloc_and_free_hooks(allocated, released);
}

}  // namespace shardlens::fuzz
