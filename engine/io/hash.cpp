// XXH3 is compiled here, out of the library's header. The program then needs no shared library for it, and
// the loops use AVX2 or AVX-512; Debian's library uses SSE2.
#include "engine/io/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace shardlens {

static_assert(XXH_VERSION_NUMBER >= 800, "XXH3's values are final since xxHash 0.8.0");

uint64_t hash64(const void* data, size_t bytes) {
  return XXH3_64bits(data, bytes);
}

}  // namespace shardlens
