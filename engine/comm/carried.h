// What a collective carries, by its request alone.
#pragma once

#include "engine/comm/request.h"

namespace shardlens {

/// Bytes that are rank `rank`'s share of what travels between the `ranks` of a group. Over all ranks it adds
/// up to what a ring sends, and it is what the local communicator counts as it carries.
int64_t carried_bytes(const Request& request, int ranks, int rank);

/// Bytes of the packed copies through which NCCL carries rank `rank`'s part, since it moves only what lies in
/// one piece: a full tensor whose slices do not lie one behind the other, and of an all-to-all all that is
/// sent and received. 0 for what is carried in place.
int64_t packed_bytes(const Request& request, int ranks, int rank);

/// What nccl-tests call algorithm and bus bandwidth, in bytes a second, of a collective over `ranks` ranks in
/// `seconds`. `bytes` are those of the full tensor, of an all-to-all those each rank holds: bytes / seconds,
/// and that times 2(n-1)/n for an all-reduce, (n-1)/n for a reduce-scatter, an all-gather and an all-to-all,
/// and 1 for a broadcast: what the link that limits it carries, whatever the number of ranks.
struct Bandwidth {
  double algorithm = 0;
  double bus = 0;
};
Bandwidth bandwidth(Call call, int64_t bytes, int ranks, double seconds);

}  // namespace shardlens
