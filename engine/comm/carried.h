// Computes how many bytes a collective carries, from its request alone.
#pragma once

#include "engine/comm/request.h"

namespace shardlens {

/// Returns rank `rank`'s share of the bytes that travel between the `ranks` of a group. The sum over all
/// ranks is what a ring sends. The local communicator counts the same number while it copies.
int64_t carried_bytes(const Request& request, int ranks, int rank);

/// Returns the bytes of the copies that rank `rank` needs beside the buffers if NCCL carries the data. NCCL
/// moves contiguous memory only: a reduce-scatter or all-gather needs a packed copy of the full tensor if its
/// slices are not contiguous; an all-to-all needs packed copies of all that is sent and received. A sum of
/// 16-bit values needs a copy of every other rank's terms of the part that this rank sums. Returns 0 if the
/// data is carried in place.
int64_t packed_bytes(const Request& request, int ranks, int rank);

/// True if the request is a sum of 16-bit values. NCCL would round it on the way, once for each rank.
bool is_half_sum(const Request& request);

/// Algorithm bandwidth and bus bandwidth, as nccl-tests defines them, in bytes per second, of a collective
/// over `ranks` ranks that takes `seconds`. `bytes` is the size of the full tensor; for an all-to-all, the
/// bytes that each rank holds. Algorithm bandwidth is bytes / seconds. Bus bandwidth is that times 2(n-1)/n
/// for an all-reduce, (n-1)/n for a reduce-scatter, an all-gather and an all-to-all, and 1 for a broadcast:
/// what the limiting link carries, whatever the number of ranks.
struct Bandwidth {
  double algorithm = 0;
  double bus = 0;
};
Bandwidth bandwidth(Call call, int64_t bytes, int ranks, double seconds);

}  // namespace shardlens
