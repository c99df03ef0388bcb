// What all ranks of a group must agree on before a collective touches any memory, whoever carries it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "engine/comm/comm.h"

namespace shardlens {

enum class Call : int32_t { AllReduce, ReduceScatter, AllGather, AllToAll, Broadcast, Barrier };

/// The extents are [count] for all-reduce and broadcast, [outer, extent, inner] for reduce-scatter and
/// all-gather, and for all-to-all the shape around its two sliced dimensions: [outer, first, middle, second,
/// inner]. It travels between processes as it is.
struct Request {
  Call call = Call::Barrier;
  DType dtype = DType::Fp32;
  int which = 0;  ///< all-reduce: 1 for the maximum; broadcast: the root; all-to-all: the axis that is sliced
                  ///< before, 1 or 3
  std::array<int64_t, 5> extents = {1, 1, 1, 1, 1};

  bool is_empty() const;  ///< there is nothing to move, and buffers may have no address
  bool operator==(const Request&) const = default;
};

Request all_reduce_request(DType dtype, int64_t count, Reduction reduction);
Request sliced_request(Call call, DType dtype, const Slicing& slicing);
/// Throws a request Error unless the dimensions are two different ones of the shape.
Request exchange_request(DType dtype, const Shape& shape, int from_dim, int to_dim);
/// Throws a request Error unless a group of `ranks` has the root.
Request broadcast_request(DType dtype, int64_t count, int root, int ranks);

std::string describe(const Request& request);

/// Throws a request Error for a dtype that ranks do not compute in, and for extents below 0.
void check_request(const Request& request);

/// "collective mismatch: rank 0 called …, rank 2 called …; …"
std::string describe_mismatch(const Request& first, int other, const Request& others);

/// Which of `count` elements rank `rank` of `ranks` sums in an all-reduce: ranges end on cache lines,
/// so that no line is written by two ranks. In elements.
Range reduced_range(DType dtype, int64_t count, int ranks, int rank);

}  // namespace shardlens
