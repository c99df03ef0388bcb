// The engine's hash of bytes: XXH3 with 64 bits, from the library xxHash. It finds damage and tells contents
// apart. It does not stop a person who makes two contents with the same hash on purpose.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shardlens {

/// XXH3_64bits of `bytes` bytes at `data`: the same on every machine, whichever instructions it has, so the
/// value may be written into files.
uint64_t hash64(const void* data, size_t bytes);

}  // namespace shardlens
