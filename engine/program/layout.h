// How a tensor is divided over the ranks, and the one collective that turns one division into another.
// The idea: nobody writes a collective by hand. An operation says which layouts it accepts and yields; where
// the producer's layout is not the consumer's, conversion() names the collective (ALGEBRA.md).
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

/// How the terms of a Partial tensor are put together.
enum class Reduction { Sum, Max };

struct Layout {
  LayoutKind kind = LayoutKind::Replicated;
  /// The sliced dimension; -1 unless Sharded, or Partial with copies: a slice that is only right after it is
  /// summed over the ranks that hold it.
  int dim = -1;
  Reduction reduction = Reduction::Sum;  ///< Max only for a Partial maximum, as of a cut softmax
  bool padded = false;  ///< every slice has the longest one's length; what it lacks is zero, at its end
  int copies = 1;       ///< so many neighbouring ranks hold the same slice

  bool operator==(const Layout&) const = default;
};

inline constexpr Layout kReplicated{LayoutKind::Replicated, -1};
inline constexpr Layout kPartial{LayoutKind::Partial, -1};
inline constexpr Layout kPartialMax{LayoutKind::Partial, -1, Reduction::Max};
constexpr Layout sharded(int dim) {
  return {LayoutKind::Sharded, dim};
}

/// The same way of slicing, along another dimension; nothing else changes, and nothing where none is sliced.
constexpr Layout sliced_along(Layout layout, int dim) {
  if (layout.dim >= 0) layout.dim = dim;
  return layout;
}

/// "Replicated", "Sharded(1)", "Partial" or "Partial(max)"; "Sharded(1, padded)", "Sharded(2, 4 copies)".
std::string to_string(Layout layout);

/// The layout a tensor's gradient must have when it reaches the tensor's producer: Replicated for Replicated,
/// Sharded(d) for Sharded(d), and Replicated for Partial (d(sum)/d(part) is the identity on every rank). Of a
/// slice that several ranks hold, each has the term of what it made of it: Partial with the same copies.
Layout gradient_layout(Layout layout);

enum class Collective { None, AllReduce, ReduceScatter, AllGather, Slice, AllToAll };

/// "all-reduce" and so on; "slice" for the local Replicated -> Sharded, "identity" for None.
std::string to_string(Collective collective);

/// The one collective that converts `from` into `to`. Nothing converts into Partial, so that throws
/// std::logic_error unless both are Partial.
Collective conversion(Layout from, Layout to);

/// Bytes each rank sends under the ring algorithm for a tensor of `full_bytes` over `ranks` ranks (S bytes,
/// T ranks): all-reduce 2S(T-1)/T, reduce-scatter and all-gather S(T-1)/T, all-to-all S(T-1)/T^2, slice and
/// none 0.
int64_t ring_sent_bytes(Collective collective, int64_t full_bytes, int ranks);

/// The balanced cut of `extent` into `ranks` ranges: sizes differ by at most one, longer ones first.
Range shard_range(int64_t extent, int ranks, int rank);

/// What one rank holds of a dimension of `extent` that `layout` slices.
Range slice_of(const Layout& layout, int64_t extent, int ranks, int rank);
/// The elements along that dimension a rank has room for: those, and the zeros behind them if it is padded.
int64_t slice_room(const Layout& layout, int64_t extent, int ranks, int rank);

/// A full tensor seen from its sharded dimension: element (o, e, i) lies at (o * extent + e) * inner + i. A
/// shard has the same outer and inner, and its own range of e. This is all a communicator must know of a
/// shape.
struct Slicing {
  int64_t outer = 1;
  int64_t extent = 1;
  int64_t inner = 1;
};

Slicing slicing(const Shape& shape, int dim);

}  // namespace shardlens
