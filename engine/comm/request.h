// A request describes a collective call: all ranks of a group must agree on it before a collective touches
// any memory, in every communicator.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "engine/comm/comm.h"

namespace shardlens {

enum class Call : int32_t { AllReduce, ReduceScatter, AllGather, AllToAll, Broadcast, Barrier };

/// The extents are [count] for all-reduce and broadcast, [outer, extent, inner] for reduce-scatter and
/// all-gather, and for all-to-all the shape around its two sliced dimensions: [outer, first, middle, second,
/// inner]. Processes exchange this struct as raw bytes.
struct Request {
  Call call = Call::Barrier;
  DType dtype = DType::Fp32;
  int which = 0;  ///< all-reduce: 1 for the maximum; broadcast: the root; all-to-all: the axis that is sliced
                  ///< before, 1 or 3
  std::array<int64_t, 5> extents = {1, 1, 1, 1, 1};

  bool is_empty() const;  ///< true if there is nothing to move; then buffers may have no address
  bool operator==(const Request&) const = default;
};

Request all_reduce_request(DType dtype, int64_t count, Reduction reduction);
Request sliced_request(Call call, DType dtype, const Slicing& slicing);
/// Throws a request Error unless the two dimensions differ and both exist in the shape.
Request exchange_request(DType dtype, const Shape& shape, int from_dim, int to_dim);
/// Throws a request Error unless a group of `ranks` has the root.
Request broadcast_request(DType dtype, int64_t count, int root, int ranks);

std::string describe(const Request& request);

/// Throws a request Error for a dtype that ranks do not compute in, and for extents below 0.
void check_request(const Request& request);

/// Returns the Error that every rank throws if the ranks' requests differ: "collective mismatch: rank 0
/// called …, rank 2 called …; …". Returns nothing if they agree.
std::optional<Error> disagreement(int ranks, const std::function<const Request&(int rank)>& request_of);

/// Returns the range of `count` elements that rank `rank` of `ranks` sums in an all-reduce. Ranges end on
/// cache lines, so that no line is written by two ranks. In elements.
Range reduced_range(DType dtype, int64_t count, int ranks, int rank);

/// The block that one rank gives another, or keeps, in an all-to-all: [outer, a, middle, b, inner]. One of
/// the two sliced dimensions holds the sender's slice and the other the receiver's. In a message its rows are
/// contiguous; in both ranks' tensors they are `rows` rows for each of `outer`, a stride apart.
struct ExchangedBlock {
  /// The request must be of Call::AllToAll.
  ExchangedBlock(const Request& request, int ranks, int sender, int receiver);

  int64_t outer = 0, rows = 0, row_bytes = 0;
  /// 0: there is nothing to move, and a tensor may have no address.
  int64_t bytes() const { return outer * rows * row_bytes; }

  struct Place {
    int64_t begin_bytes = 0, stride_bytes = 0;
  };
  Place in_source(int64_t o) const { return from_first_ ? in_whole_second(o) : in_whole_first(o); }
  Place in_target(int64_t o) const { return from_first_ ? in_whole_first(o) : in_whole_second(o); }

 private:
  Place in_whole_second(int64_t o) const;  ///< of [outer, a, middle, second, inner]
  Place in_whole_first(int64_t o) const;   ///< of [outer, first, middle, b, inner]

  bool from_first_ = true;  ///< the sender's tensor is sliced along `first`
  int64_t begin_in_row_ = 0, whole_row_bytes_ = 0;
  int64_t begin_row_ = 0, whole_rows_ = 0;
};

}  // namespace shardlens
