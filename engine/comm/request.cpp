// Builds requests from calls, checks them, and describes them in words.
#include "engine/comm/request.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/config/error.h"

namespace shardlens {
namespace {

constexpr int64_t kLineBytes = 64;

}  // namespace

bool Request::is_empty() const {
  return std::ranges::find(extents, 0) != extents.end();
}

Request all_reduce_request(DType dtype, int64_t count, Reduction reduction) {
  return {Call::AllReduce, dtype, reduction == Reduction::Max ? 1 : 0, {count, 1, 1, 1, 1}};
}

Request sliced_request(Call call, DType dtype, const Slicing& slicing) {
  return {call, dtype, 0, {slicing.outer, slicing.extent, slicing.inner, 1, 1}};
}

Request exchange_request(DType dtype, const Shape& shape, int from_dim, int to_dim) {
  const int dims = static_cast<int>(shape.size());
  if (from_dim == to_dim || std::min(from_dim, to_dim) < 0 || std::max(from_dim, to_dim) >= dims) {
    throw request_error(
        fmt::format("all-to-all of {} from dimension {} to {}: give two different dimensions below {}",
                    to_string(shape), from_dim, to_dim, dims));
  }
  Request request{Call::AllToAll, dtype, from_dim < to_dim ? 1 : 3, {1, 1, 1, 1, 1}};
  const int first = std::min(from_dim, to_dim);
  const int second = std::max(from_dim, to_dim);
  for (int dim = 0; dim < dims; ++dim) {
    const size_t axis =
        static_cast<size_t>((dim >= first) + (dim > first) + (dim >= second) + (dim > second));
    request.extents[axis] *= shape[static_cast<size_t>(dim)];
  }
  return request;
}

Request broadcast_request(DType dtype, int64_t count, int root, int ranks) {
  if (root < 0 || root >= ranks) {
    throw request_error(fmt::format("broadcast from rank {}: the group has ranks 0 to {}", root, ranks - 1));
  }
  return {Call::Broadcast, dtype, root, {count, 1, 1, 1, 1}};
}

std::string describe(const Request& request) {
  const auto& [a, b, c, d, e] = request.extents;
  const std::string dtype = to_string(request.dtype);
  switch (request.call) {
    case Call::AllReduce:
      return fmt::format("all-reduce{} of {} {}", request.which == 1 ? " (max)" : "", a, dtype);
    case Call::ReduceScatter:
      return fmt::format("reduce-scatter of [{}, {}, {}] {}", a, b, c, dtype);
    case Call::AllGather:
      return fmt::format("all-gather of [{}, {}, {}] {}", a, b, c, dtype);
    case Call::AllToAll:
      return fmt::format("all-to-all of [{}, {}, {}, {}, {}] {} from axis {} to axis {}", a, b, c, d, e,
                         dtype, request.which, 4 - request.which);
    case Call::Broadcast:
      return fmt::format("broadcast of {} {} from rank {}", a, dtype, request.which);
    case Call::Barrier:
      return "barrier";
  }
  return "unknown collective";
}

void check_request(const Request& request) {
  if (request.dtype == DType::Int32)
    throw request_error(fmt::format("{}: ranks exchange floating-point numbers", describe(request)));
  if (std::ranges::any_of(request.extents, [](int64_t extent) { return extent < 0; }))
    throw request_error(fmt::format("{}: extents must be 0 or more", describe(request)));
}

std::optional<Error> disagreement(int ranks, const std::function<const Request&(int rank)>& request_of) {
  for (int other = 1; other < ranks; ++other) {
    if (request_of(other) == request_of(0)) continue;
    return run_error(fmt::format(
        "collective mismatch: rank 0 called {}, rank {} called {}; all ranks must make the same calls in the "
        "same order",
        describe(request_of(0)), other, describe(request_of(other))));
  }
  return std::nullopt;
}

Range reduced_range(DType dtype, int64_t count, int ranks, int rank) {
  const int64_t line = kLineBytes / element_bytes(dtype);
  const Range lines = shard_range((count + line - 1) / line, ranks, rank);
  return {std::min(lines.begin * line, count), std::min(lines.end * line, count)};
}

ExchangedBlock::ExchangedBlock(const Request& request, int ranks, int sender, int receiver)
    : outer(request.extents[0]), from_first_(request.which == 1) {
  const auto& [outer_extent, first, middle, second, inner] = request.extents;
  const Range a = shard_range(first, ranks, from_first_ ? sender : receiver);
  const Range b = shard_range(second, ranks, from_first_ ? receiver : sender);
  const int64_t element = inner * element_bytes(request.dtype);
  rows = a.size() * middle;
  row_bytes = b.size() * element;
  begin_in_row_ = b.begin * element;
  whole_row_bytes_ = second * element;
  begin_row_ = a.begin * middle;
  whole_rows_ = first * middle;
}

ExchangedBlock::Place ExchangedBlock::in_whole_second(int64_t o) const {
  return {o * rows * whole_row_bytes_ + begin_in_row_, whole_row_bytes_};
}

ExchangedBlock::Place ExchangedBlock::in_whole_first(int64_t o) const {
  return {(o * whole_rows_ + begin_row_) * row_bytes, row_bytes};
}

}  // namespace shardlens
