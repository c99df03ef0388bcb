// The number of elements of a sliced tensor and of its shards.
#pragma once

#include "engine/program/layout.h"

namespace shardlens {

inline int64_t full_count(const Slicing& slicing) {
  return slicing.outer * slicing.extent * slicing.inner;
}
inline int64_t shard_count(const Slicing& slicing, int ranks, int rank) {
  return slicing.outer * shard_range(slicing.extent, ranks, rank).size() * slicing.inner;
}

}  // namespace shardlens
