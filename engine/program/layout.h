// Describes how a tensor is divided over the ranks, and which collective converts one layout into another.
// The idea: a collective follows from layouts. An operation states which layouts it accepts and yields. If
// the producer's layout differs from the consumer's, conversion() returns the collective (ALGEBRA.md). Only
// the sums of weights' gradients over replicas, and over ranks with other tokens, are written directly
// (planner/gradient_sums.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/shape.h"

namespace shardlens {

enum class LayoutKind {
  Replicated,  ///< every rank holds the whole tensor, bit-identical
  Sharded,     ///< every rank holds one slice along `dim`
  Partial,     ///< every rank holds a full-shape tensor that is only right after it is summed over the ranks
};

/// How the terms of a Partial tensor are combined.
enum class Reduction { Sum, Max };

struct Layout {
  LayoutKind kind = LayoutKind::Replicated;
  /// The sliced dimension if the layout is Sharded, or Partial with copies (a slice that is only right after
  /// it is summed over the ranks that hold it); else -1.
  int dim = -1;
  Reduction reduction = Reduction::Sum;  ///< Max only for a Partial maximum, as in a cut softmax
  bool padded = false;  ///< all slices are as long as the longest; shorter ones end with zeros
  int copies = 1;       ///< the number of neighbouring ranks that hold the same slice

  bool operator==(const Layout&) const = default;
};

inline constexpr Layout kReplicated{LayoutKind::Replicated, -1};
inline constexpr Layout kPartial{LayoutKind::Partial, -1};
inline constexpr Layout kPartialMax{LayoutKind::Partial, -1, Reduction::Max};
constexpr Layout sharded(int dim) {
  return {LayoutKind::Sharded, dim};
}

/// Returns the layout with another sliced dimension, or the layout itself if it has no sliced dimension.
constexpr Layout sliced_along(Layout layout, int dim) {
  if (layout.dim >= 0) layout.dim = dim;
  return layout;
}

/// "Replicated", "Sharded(1)", "Partial" or "Partial(max)"; "Sharded(1, padded)", "Sharded(2, 4 copies)".
std::string to_string(Layout layout);

/// Returns the layout that a tensor's gradient must have when it reaches the tensor's producer: Replicated
/// for Replicated, Sharded(d) for Sharded(d), and Replicated for Partial (d(sum)/d(part) is the identity on
/// every rank). If several ranks hold a slice, each rank has one term of its gradient, from its own use of
/// the slice: Partial with the same copies.
Layout gradient_layout(Layout layout);

enum class Collective { None, AllReduce, ReduceScatter, AllGather, Slice, AllToAll };

/// "all-reduce" and so on; "slice" for the local Replicated -> Sharded, "identity" for None.
std::string to_string(Collective collective);

/// Returns the collective that converts `from` into `to`. No collective converts into Partial, so a Partial
/// `to` throws std::logic_error unless it equals `from`.
Collective conversion(Layout from, Layout to);

/// Returns the bytes that each rank sends in the ring algorithm for a tensor of `full_bytes` over `ranks`
/// ranks (S bytes, T ranks): all-reduce 2S(T-1)/T, reduce-scatter and all-gather S(T-1)/T, all-to-all
/// S(T-1)/T^2, slice and none 0.
int64_t ring_sent_bytes(Collective collective, int64_t full_bytes, int ranks);

/// Cuts `extent` into `ranks` ranges and returns that of `rank`. Sizes differ by at most one; longer ones
/// come first.
Range shard_range(int64_t extent, int ranks, int rank);

/// Returns the range that one rank holds of a dimension of `extent` that `layout` slices.
Range slice_of(const Layout& layout, int64_t extent, int ranks, int rank);
/// Returns how many elements along that dimension a rank stores: slice_of(), and the zeros after it if
/// padded.
int64_t slice_room(const Layout& layout, int64_t extent, int ranks, int rank);

/// A full tensor's shape, reduced to three extents around its sharded dimension: element (o, e, i) is at
/// (o * extent + e) * inner + i. A shard has the same outer and inner, and its own range of e. A communicator
/// needs no more of a shape than this.
struct Slicing {
  int64_t outer = 1;
  int64_t extent = 1;
  int64_t inner = 1;
};

Slicing slicing(const Shape& shape, int dim);

}  // namespace shardlens
