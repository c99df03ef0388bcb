// After the last hop every rank has every term exactly once, and the bytes sent are those of the cost model.
#include "engine/comm/route.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

#include "engine/cost/price.h"

namespace shardlens {
namespace route_test {

constexpr int kRanks[] = {1, 2, 3, 4, 5, 7, 8, 13, 16};
constexpr Collective kSending[] = {Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather,
                                   Collective::AllToAll};

/// Every route that exists over `ranks` ranks.
std::vector<Route> routes(int ranks) {
  std::vector<Route> all;
  for (const Collective collective : kSending) all.push_back(route_of(collective, Wiring::Ring, ranks));
  all.push_back(route_of(Collective::AllReduce, Wiring::Tree, ranks));
  return all;
}

/// The bytes of the chunks of `elements` elements, as a communicator cuts them.
std::vector<int64_t> cut(int64_t elements, const Route& route, int64_t element_bytes = 4) {
  std::vector<int64_t> bytes;
  for (int chunk = 0; chunk < route.chunks; ++chunk)
    bytes.push_back(shard_range(elements, route.chunks, chunk).size() * element_bytes);
  return bytes;
}

std::vector<int64_t> sent_by_each(const Route& route, std::span<const int64_t> chunk_bytes) {
  std::vector<int64_t> sent;
  for (int rank = 0; rank < route.ranks; ++rank) sent.push_back(sent_by(route, rank, chunk_bytes));
  return sent;
}

TEST(Route, AfterTheLastHopEveryRankHasItsResultAndNotBefore) {
  for (const int ranks : kRanks)
    for (const Route& route : routes(ranks)) {
      SCOPED_TRACE(to_string(route.collective) + " over " + std::to_string(ranks));
      Holdings holdings(route);
      for (const std::vector<Passing>& hop : route.hops) {
        int done = 0;
        for (int rank = 0; rank < ranks; ++rank) done += has_its_result(route, holdings, rank);
        EXPECT_LT(done, ranks) << "a hop more than needed";
        holdings.pass(route, hop);
      }
      for (int rank = 0; rank < ranks; ++rank) EXPECT_TRUE(has_its_result(route, holdings, rank)) << rank;
    }
}

TEST(Route, EveryTermIsInEveryChunkOfAnAllReduceExactlyOnce) {
  for (const int ranks : kRanks)
    for (const Wiring wiring : {Wiring::Ring, Wiring::Tree}) {
      const Route route = route_of(Collective::AllReduce, wiring, ranks);
      Holdings holdings(route);
      for (const std::vector<Passing>& hop : route.hops) {
        holdings.pass(route, hop);
        for (int rank = 0; rank < ranks; ++rank)
          for (int chunk = 0; chunk < route.chunks; ++chunk)
            for (int term = 0; term < ranks; ++term) EXPECT_LE(holdings.times(rank, chunk, term), 1);
      }
      for (int rank = 0; rank < ranks; ++rank)
        for (int chunk = 0; chunk < route.chunks; ++chunk)
          for (int term = 0; term < ranks; ++term) EXPECT_EQ(holdings.times(rank, chunk, term), 1);
    }
}

TEST(Route, OneRankHasNothingToPass) {
  for (const Route& route : routes(1)) {
    EXPECT_TRUE(route.hops.empty());
    EXPECT_TRUE(has_its_result(route, Holdings(route), 0));
  }
}

TEST(Route, ARingHasAsManyHopsAsTheCostModelCounts) {
  for (const int ranks : kRanks)
    for (const Collective collective : kSending)
      EXPECT_EQ(static_cast<int>(route_of(collective, Wiring::Ring, ranks).hops.size()),
                ring_hops(collective, ranks));
}

TEST(Route, EachRankOfARingSendsWhatTheCostModelSaysWhereRanksDivideTheTensor) {
  for (const int ranks : kRanks)
    for (const Collective collective : kSending) {
      const Route route = route_of(collective, Wiring::Ring, ranks);
      const int64_t elements = int64_t{ranks} * ranks * 3;
      // In an all-to-all a rank cuts only its own slice.
      const int64_t cut_elements = collective == Collective::AllToAll ? elements / ranks : elements;
      const std::vector<int64_t> chunks = cut(cut_elements, route);
      for (const int64_t sent : sent_by_each(route, chunks))
        EXPECT_EQ(sent, ring_sent_bytes(collective, elements * 4, ranks)) << to_string(collective);
    }
}

TEST(Route, TheRanksTogetherSendTheRingFigureWhateverTheSizeOfTheTensor) {
  for (const int ranks : {2, 3, 5, 16})
    for (const int64_t elements : {1, 2, 7, 100}) {  // fewer elements than ranks: some chunks are empty
      const Route route = route_of(Collective::AllReduce, Wiring::Ring, ranks);
      const std::vector<int64_t> sent = sent_by_each(route, cut(elements, route));
      EXPECT_EQ(std::accumulate(sent.begin(), sent.end(), int64_t{0}), 2 * (ranks - 1) * elements * 4);
    }
}

TEST(Route, ChunksAreInTheRingOfAllRanksAtTheSameTime) {
  const Route route = route_of(Collective::AllReduce, Wiring::Ring, 5);
  for (const std::vector<Passing>& hop : route.hops) {
    ASSERT_EQ(hop.size(), 5u);
    std::vector<int> sends(5, 0), receives(5, 0), chunks(5, 0);
    for (const Passing& one : hop) {
      EXPECT_EQ(one.to, (one.from + 1) % 5);
      ++sends[static_cast<size_t>(one.from)];
      ++receives[static_cast<size_t>(one.to)];
      ++chunks[static_cast<size_t>(one.chunk)];
    }
    EXPECT_EQ(sends, std::vector<int>(5, 1));
    EXPECT_EQ(receives, std::vector<int>(5, 1));
    EXPECT_EQ(chunks, std::vector<int>(5, 1));
  }
}

TEST(Route, ARankGetsItsOwnChunkOfAReduceScatterSoAnAllGatherCanFollow) {
  const Route whole = route_of(Collective::AllReduce, Wiring::Ring, 4);
  const Route first = route_of(Collective::ReduceScatter, Wiring::Ring, 4);
  const Route second = route_of(Collective::AllGather, Wiring::Ring, 4);
  ASSERT_EQ(whole.hops.size(), first.hops.size() + second.hops.size());
  EXPECT_EQ(whole.adding_hops, static_cast<int>(first.hops.size()));
  for (size_t hop = 0; hop < whole.hops.size(); ++hop)
    EXPECT_EQ(whole.hops[hop],
              hop < first.hops.size() ? first.hops[hop] : second.hops[hop - first.hops.size()]);
}

TEST(Route, ATreeHasFewHopsAndEachCarriesTheWholeTensor) {
  const Route four = route_of(Collective::AllReduce, Wiring::Tree, 4);
  ASSERT_EQ(four.hops.size(), 4u);
  EXPECT_EQ(four.hops[0], (std::vector<Passing>{{1, 0, 0, true}, {3, 2, 0, true}}));
  EXPECT_EQ(four.hops[1], (std::vector<Passing>{{2, 0, 0, true}}));
  EXPECT_EQ(four.hops[2], (std::vector<Passing>{{0, 2, 0, false}}));
  EXPECT_EQ(four.hops[3], (std::vector<Passing>{{0, 1, 0, false}, {2, 3, 0, false}}));
  EXPECT_EQ(route_of(Collective::AllReduce, Wiring::Tree, 16).hops.size(), 8u);
  EXPECT_EQ(route_of(Collective::AllReduce, Wiring::Tree, 5).hops.size(), 6u);
  const std::vector<int64_t> whole{4000};
  EXPECT_EQ(sent_by_each(four, whole), (std::vector<int64_t>{8000, 4000, 8000, 4000}));
}

TEST(Route, WhatSendsNothingHasNoRoute) {
  EXPECT_THROW(route_of(Collective::Slice, Wiring::Ring, 4), std::logic_error);
  EXPECT_THROW(route_of(Collective::None, Wiring::Ring, 4), std::logic_error);
  EXPECT_THROW(route_of(Collective::AllGather, Wiring::Tree, 4), std::logic_error);
}

}  // namespace route_test
}  // namespace shardlens
