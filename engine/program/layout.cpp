// Layout algebra: the table of ALGEBRA.md as code.
#include "engine/program/layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>

namespace shardlens {

std::string to_string(Layout layout) {
  const std::string slices = fmt::format("({}{}{})", layout.dim, layout.padded ? ", padded" : "",
                                         layout.copies > 1 ? fmt::format(", {} copies", layout.copies) : "");
  switch (layout.kind) {
    case LayoutKind::Replicated:
      return "Replicated";
    case LayoutKind::Sharded:
      return "Sharded" + slices;
    case LayoutKind::Partial:
      return layout.dim >= 0                      ? "Partial" + slices
             : layout.reduction == Reduction::Max ? "Partial(max)"
                                                  : "Partial";
  }
  return {};
}

Layout gradient_layout(Layout layout) {
  if (layout.copies > 1) layout.kind = LayoutKind::Partial;
  return layout.dim >= 0 ? layout : kReplicated;
}

std::string to_string(Collective collective) {
  switch (collective) {
    case Collective::None:
      return "identity";
    case Collective::AllReduce:
      return "all-reduce";
    case Collective::ReduceScatter:
      return "reduce-scatter";
    case Collective::AllGather:
      return "all-gather";
    case Collective::Slice:
      return "slice";
    case Collective::AllToAll:
      return "all-to-all";
  }
  return {};
}

Collective conversion(Layout from, Layout to) {
  if (from == to) return Collective::None;
  if (to.kind == LayoutKind::Partial) {
    throw std::logic_error("no collective turns " + to_string(from) +
                           " into Partial: a complete sum cannot be split into terms");
  }
  switch (from.kind) {
    case LayoutKind::Partial:
      if (from.dim >= 0 &&
          to == Layout{LayoutKind::Sharded, from.dim, from.reduction, from.padded, from.copies})
        return Collective::AllReduce;  // among the ranks that hold the slice
      return to.kind == LayoutKind::Replicated ? Collective::AllReduce : Collective::ReduceScatter;
    case LayoutKind::Sharded:
      return to.kind == LayoutKind::Replicated ? Collective::AllGather : Collective::AllToAll;
    case LayoutKind::Replicated:
      return Collective::Slice;
  }
  return Collective::None;
}

int64_t ring_sent_bytes(Collective collective, int64_t full_bytes, int ranks) {
  const int64_t others = ranks - 1;
  switch (collective) {
    case Collective::AllReduce:
      return 2 * full_bytes * others / ranks;
    case Collective::ReduceScatter:
    case Collective::AllGather:
      return full_bytes * others / ranks;
    case Collective::AllToAll:
      return full_bytes * others / ranks / ranks;
    case Collective::None:
    case Collective::Slice:
      return 0;
  }
  return 0;
}

Range shard_range(int64_t extent, int ranks, int rank) {
  const int64_t base = extent / ranks;
  const int64_t longer = extent % ranks;  // the first ranks, this many, hold one more
  const int64_t begin = base * rank + std::min<int64_t>(rank, longer);
  return {begin, begin + base + (rank < longer ? 1 : 0)};
}

Range slice_of(const Layout& layout, int64_t extent, int ranks, int rank) {
  return shard_range(extent, ranks / layout.copies, rank / layout.copies);
}

int64_t slice_room(const Layout& layout, int64_t extent, int ranks, int rank) {
  return slice_of(layout, extent, ranks, layout.padded ? 0 : rank).size();
}

Slicing slicing(const Shape& shape, int dim) {
  Slicing result;
  for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
    const int64_t extent = shape[static_cast<size_t>(d)];
    if (d < dim) result.outer *= extent;
    if (d == dim) result.extent = extent;
    if (d > dim) result.inner *= extent;
  }
  return result;
}

}  // namespace shardlens
