// How kernels check the positions of new tokens in a cache (CacheShape::positions), which are only in the
// GPU's memory. What is wrong is written to memory that the host reads when it next waits for the device.
#pragma once

#include "engine/device/cuda/operation.cuh"

namespace shardlens::cuda {

/// `seq` new tokens of each sequence, in a cache with room for `room`.
struct Positions {
  int64_t batch, seq, room;
  const int32_t* at;  // [batch * seq]

  explicit Positions(const CacheShape& shape)
      : batch(shape.batch), seq(shape.seq), room(shape.room), at(shape.positions) {}

  /// Of a sequence's first token. A wrong one too: see fit().
  __device__ __forceinline__ int64_t first(int64_t sequence) const { return at[sequence * seq]; }
  __device__ __forceinline__ bool fit(int64_t first) const { return first >= 0 && first + seq <= room; }
  __device__ __forceinline__ bool is_right(int64_t token) const {
    const int64_t begin = first(token / seq);
    return fit(begin) && at[token] == begin + token % seq;
  }
  /// For one thread. Keeps the fault that was found first.
  __device__ __forceinline__ void note(int64_t wrong, Fault* fault) const {
    if (fault->found != 0) return;
    fault->seq = seq;
    fault->room = room;
    fault->first = first(wrong / seq);
    fault->index = wrong % seq;
    fault->position = at[wrong];
    __threadfence_system();
    fault->found = 1;
  }

  /// A few tokens are checked by one thread of the kernel that reads them, which saves a launch.
  SHARDLENS_BOTH bool are_few() const { return seq == 1 && batch <= kFewTokens; }
  __device__ __forceinline__ void check_few(Fault* fault) const {
    for (int64_t token = 0; token < batch; ++token)
      if (!is_right(token)) return note(token, fault);
  }
};

}  // namespace shardlens::cuda
