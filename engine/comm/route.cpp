// Writes the hops of rings and trees, and follows the terms through them.
#include "engine/comm/route.h"

#include <algorithm>
#include <stdexcept>

namespace shardlens {
namespace {

int around(int place, int ranks) {
  return (place % ranks + ranks) % ranks;
}

// In hop h, from 1, rank r passes on chunk r - h. So rank r receives its own chunk in the last hop, T - 1.
void add_reduce_scatter(Route& route) {
  for (int hop = 1; hop < route.ranks; ++hop) {
    route.hops.emplace_back();
    for (int rank = 0; rank < route.ranks; ++rank)
      route.hops.back().push_back(
          {rank, around(rank + 1, route.ranks), around(rank - hop, route.ranks), true});
  }
  route.adding_hops = static_cast<int>(route.hops.size());
}

// In the first hop rank r passes on its own chunk, then always the one that it received last.
void add_all_gather(Route& route) {
  for (int hop = 1; hop < route.ranks; ++hop) {
    route.hops.emplace_back();
    for (int rank = 0; rank < route.ranks; ++rank)
      route.hops.back().push_back(
          {rank, around(rank + 1, route.ranks), around(rank - hop + 1, route.ranks), false});
  }
}

void add_all_to_all(Route& route) {
  for (int hop = 1; hop < route.ranks; ++hop) {
    route.hops.emplace_back();
    for (int rank = 0; rank < route.ranks; ++rank) {
      const int to = around(rank + hop, route.ranks);
      route.hops.back().push_back({rank, to, to, true});
    }
  }
  route.adding_hops = static_cast<int>(route.hops.size());
}

// A binomial tree: in the hop with distance d, the ranks d, 3d, 5d, ... send to the rank d below them.
void add_tree(Route& route) {
  for (int distance = 1; distance < route.ranks; distance *= 2) {
    route.hops.emplace_back();
    for (int rank = distance; rank < route.ranks; rank += 2 * distance)
      route.hops.back().push_back({rank, rank - distance, 0, true});
  }
  route.adding_hops = static_cast<int>(route.hops.size());
  for (int hop = route.adding_hops - 1; hop >= 0; --hop) {
    route.hops.emplace_back();
    for (const Passing& there : route.hops[static_cast<size_t>(hop)])
      route.hops.back().push_back({there.to, there.from, 0, false});
  }
}

}  // namespace

Route route_of(Collective collective, Wiring wiring, int ranks) {
  Route route{collective, wiring, ranks, wiring == Wiring::Ring ? ranks : 1, 0, {}};
  if (wiring == Wiring::Tree) {
    if (collective != Collective::AllReduce)
      throw std::logic_error("only an all-reduce has a tree, not " + to_string(collective));
    add_tree(route);
    return route;
  }
  switch (collective) {
    case Collective::AllReduce:
      add_reduce_scatter(route);
      add_all_gather(route);
      return route;
    case Collective::ReduceScatter:
      add_reduce_scatter(route);
      return route;
    case Collective::AllGather:
      add_all_gather(route);
      return route;
    case Collective::AllToAll:
      add_all_to_all(route);
      return route;
    case Collective::None:
    case Collective::Slice:
      break;
  }
  throw std::logic_error(to_string(collective) + " sends nothing, so it has no hops");
}

Holdings::Holdings(const Route& route)
    : ranks_(route.ranks),
      chunks_(route.chunks),
      times_(static_cast<size_t>(route.ranks * route.ranks * route.chunks), 0) {
  for (int rank = 0; rank < ranks_; ++rank)
    for (int chunk = 0; chunk < chunks_; ++chunk)
      if (route.collective != Collective::AllGather || chunk == rank) times_[at(rank, chunk, rank)] = 1;
}

int Holdings::terms(int rank, int chunk) const {
  const auto first = times_.begin() + static_cast<std::ptrdiff_t>(at(rank, chunk, 0));
  return static_cast<int>(std::count_if(first, first + ranks_, [](uint8_t times) { return times > 0; }));
}

void Holdings::pass(const Route& route, const std::vector<Passing>& hop) {
  const Holdings before = *this;
  for (const Passing& one : hop)
    for (int term = 0; term < ranks_; ++term) {
      // A rank of an all-to-all sends only its own piece, not those that it has received for itself.
      const bool sends = route.collective != Collective::AllToAll || term == one.from;
      const auto sent = static_cast<uint8_t>(sends ? before.times(one.from, one.chunk, term) : 0);
      uint8_t& held = times_[at(one.to, one.chunk, term)];
      held = static_cast<uint8_t>(one.adds ? held + sent : sent);
    }
}

int terms_when_complete(const Route& route) {
  return route.collective == Collective::AllGather ? 1 : route.ranks;
}

bool is_complete(const Route& route, const Holdings& holdings, int rank, int chunk) {
  for (int term = 0; term < route.ranks; ++term) {
    const int wanted = route.collective == Collective::AllGather ? term == chunk : 1;
    if (holdings.times(rank, chunk, term) != wanted) return false;
  }
  return true;
}

bool has_its_result(const Route& route, const Holdings& holdings, int rank) {
  if (route.collective == Collective::ReduceScatter || route.collective == Collective::AllToAll)
    return is_complete(route, holdings, rank, rank);
  for (int chunk = 0; chunk < route.chunks; ++chunk)
    if (!is_complete(route, holdings, rank, chunk)) return false;
  return true;
}

int64_t sent_by(const Route& route, int rank, std::span<const int64_t> chunk_bytes) {
  int64_t bytes = 0;
  for (const std::vector<Passing>& hop : route.hops)
    for (const Passing& one : hop)
      if (one.from == rank) bytes += chunk_bytes[static_cast<size_t>(one.chunk)];
  return bytes;
}

}  // namespace shardlens
