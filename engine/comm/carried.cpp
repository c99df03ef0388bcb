// Counts the bytes of a collective from the shapes in its request.
#include "engine/comm/carried.h"

namespace shardlens {

int64_t carried_bytes(const Request& request, int ranks, int rank) {
  if (request.is_empty() || ranks < 2) return 0;
  const auto& [a, b, c, d, e] = request.extents;
  const int64_t element = element_bytes(request.dtype);
  const int64_t others = ranks - 1;
  switch (request.call) {
    case Call::AllReduce:
      return 2 * others * reduced_range(request.dtype, a, ranks, rank).size() * element;
    case Call::ReduceScatter:
      return others * a * shard_range(b, ranks, rank).size() * c * element;
    case Call::AllGather:
      return a * (b - shard_range(b, ranks, rank).size()) * c * element;
    case Call::AllToAll: {
      // The part of this rank's slice after the exchange that it did not hold before.
      const bool first_to_second = request.which == 1;
      const int64_t before = shard_range(first_to_second ? b : d, ranks, rank).size();
      const int64_t after = shard_range(first_to_second ? d : b, ranks, rank).size();
      return a * ((first_to_second ? b : d) - before) * c * after * e * element;
    }
    case Call::Broadcast:
      return rank == request.which ? 0 : a * element;
    case Call::Barrier:
      return 0;
  }
  return 0;
}

bool is_half_sum(const Request& request) {
  const bool sums =
      request.call == Call::ReduceScatter || (request.call == Call::AllReduce && request.which == 0);
  return sums && element_bytes(request.dtype) == 2;
}

int64_t packed_bytes(const Request& request, int ranks, int rank) {
  const auto& [outer, extent, inner, d, e] = request.extents;
  const int64_t element = element_bytes(request.dtype);
  if (request.call == Call::AllReduce && is_half_sum(request))
    return (ranks - 1) * reduced_range(request.dtype, outer, ranks, rank).size() * element;
  if (request.call == Call::ReduceScatter || request.call == Call::AllGather) {
    const int64_t packed = outer == 1 ? 0 : outer * extent * inner * element;
    const int64_t terms = outer * shard_range(extent, ranks, rank).size() * inner * element;
    return packed + (is_half_sum(request) ? (ranks - 1) * terms : 0);
  }
  if (request.call != Call::AllToAll) return 0;
  int64_t bytes = 0;
  for (int other = 0; other < ranks; ++other)
    bytes += ExchangedBlock(request, ranks, rank, other).bytes() +
             ExchangedBlock(request, ranks, other, rank).bytes();
  return bytes;
}

Bandwidth bandwidth(Call call, int64_t bytes, int ranks, double seconds) {
  const double n = ranks;
  double factor = 1;
  if (call == Call::AllReduce) factor = 2 * (n - 1) / n;
  if (call == Call::ReduceScatter || call == Call::AllGather || call == Call::AllToAll) factor = (n - 1) / n;
  const double algorithm = static_cast<double>(bytes) / seconds;
  return {algorithm, algorithm * factor};
}

}  // namespace shardlens
