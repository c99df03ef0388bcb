// A page's memory is one array, which grows up to a size that the linker was told (app/CMakeLists.txt). No
// browser says how much memory there is below it, nor what it runs on.
#include <emscripten/emmalloc.h>
#include <emscripten/heap.h>

#include "engine/base/machine.h"

namespace shardlens {

const char* const kUnnamedProcessor = "a page of the web";

std::optional<OwnMemory> own_memory() {
  return OwnMemory{static_cast<int64_t>(emscripten_get_heap_max()),
                   static_cast<int64_t>(emmalloc_dynamic_heap_size() - emmalloc_free_dynamic_memory()),
                   "a page of the web"};
}

}  // namespace shardlens
