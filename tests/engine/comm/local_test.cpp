// Compares the local communicator with sums and copies made by hand: every collective, any number of ranks,
// uneven and empty slices, and the same bits on every rank.
#include <cstring>
#include <random>
#include <tuple>

#include "tests/engine/comm/group_of_ranks.h"
#include "tests/engine/counts.h"
#include "tests/engine/device/operands.h"

namespace shardlens {
namespace local_test {

template <typename Element>
constexpr DType kDType = sizeof(Element) == 8 ? DType::Fp64 : DType::Fp32;

// Values of very different magnitudes, so that sums depend on the order of their terms.
template <typename Element>
std::vector<Element> values(int64_t count, int rank) {
  std::mt19937 random(static_cast<unsigned>(7919 * rank + 1));
  std::uniform_real_distribution<double> mantissa(-1, 1);
  std::uniform_int_distribution<int> exponent(-20, 20);
  std::vector<Element> result(static_cast<size_t>(count));
  for (Element& value : result) value = static_cast<Element>(std::ldexp(mantissa(random), exponent(random)));
  return result;
}

// All ranks' values summed one after the other in the order given.
template <typename Element>
std::vector<Element> summed(int64_t count, const std::vector<int>& order) {
  std::vector<Element> sum = values<Element>(count, order[0]);
  for (size_t i = 1; i < order.size(); ++i) {
    const std::vector<Element> next = values<Element>(count, order[i]);
    for (size_t j = 0; j < sum.size(); ++j) sum[j] += next[j];
  }
  return sum;
}

std::vector<int> rank_order(int ranks) {
  std::vector<int> order(static_cast<size_t>(ranks));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  return order;
}

// The slice of `full` that a rank holds.
template <typename Element>
std::vector<Element> shard_of(const std::vector<Element>& full, const Slicing& slicing, int ranks, int rank) {
  const Range range = shard_range(slicing.extent, ranks, rank);
  std::vector<Element> shard;
  for (int64_t o = 0; o < slicing.outer; ++o) {
    for (int64_t i = range.begin * slicing.inner; i < range.end * slicing.inner; ++i) {
      shard.push_back(full[static_cast<size_t>(o * slicing.extent * slicing.inner + i)]);
    }
  }
  return shard;
}

template <typename Element>
class LocalGroup : public ::testing::Test {};
using Elements = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LocalGroup, Elements);

TYPED_TEST(LocalGroup, AllReduceSumsInRankOrderWithTheSameBitsOnEveryRank) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (const int64_t count : {0, 1, 2, 7, 15, 16, 17, 63, 64, 65, 127, 1000, 4099}) {
      const auto expected = summed<TypeParam>(count, rank_order(ranks));
      run_group(ranks, [&](Communicator& comm) {
        auto data = values<TypeParam>(count, comm.rank());
        comm.all_reduce(kDType<TypeParam>, count, data.data());
        EXPECT_TRUE(same_bits(data, expected))
            << "rank " << comm.rank() << " of " << ranks << ", count " << count;
      });
    }
  }
  // The values are such that another order would show.
  EXPECT_FALSE(same_bits(summed<TypeParam>(1000, {0, 1, 2}), summed<TypeParam>(1000, {2, 1, 0})));
}

TYPED_TEST(LocalGroup, ReduceScatterSumsEachShardInRankOrder) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (const int64_t outer : {1, 3}) {
      for (const int64_t extent : {0, 1, 5, 8, 13}) {
        for (const int64_t inner : {1, 2, 70}) {
          const Slicing slicing{outer, extent, inner};
          const auto sum = summed<TypeParam>(full_count(slicing), rank_order(ranks));
          run_group(ranks, [&](Communicator& comm) {
            const auto full = values<TypeParam>(full_count(slicing), comm.rank());
            const auto before = full;
            std::vector<TypeParam> shard(static_cast<size_t>(shard_count(slicing, ranks, comm.rank())));
            comm.reduce_scatter(kDType<TypeParam>, slicing, full.data(), shard.data());
            EXPECT_TRUE(same_bits(shard, shard_of(sum, slicing, ranks, comm.rank())))
                << "rank " << comm.rank() << " of " << ranks << ", [" << outer << ", " << extent << ", "
                << inner << "]";
            EXPECT_TRUE(same_bits(full, before));
          });
        }
      }
    }
  }
}

TYPED_TEST(LocalGroup, AllGatherPutsEveryShardInItsPlace) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (const int64_t outer : {0, 1, 3}) {
      for (const int64_t extent : {0, 1, 5, 8, 13}) {
        for (const int64_t inner : {1, 2, 70}) {
          const Slicing slicing{outer, extent, inner};
          const auto expected = values<TypeParam>(full_count(slicing), 0);
          run_group(ranks, [&](Communicator& comm) {
            const auto shard = shard_of(expected, slicing, ranks, comm.rank());
            std::vector<TypeParam> full(expected.size());
            comm.all_gather(kDType<TypeParam>, slicing, shard.data(), full.data());
            EXPECT_TRUE(same_bits(full, expected)) << "rank " << comm.rank() << " of " << ranks << ", ["
                                                   << outer << ", " << extent << ", " << inner << "]";
          });
        }
      }
    }
  }
}

TYPED_TEST(LocalGroup, AllToAllMovesSlicesFromAnyDimensionToAnyOther) {
  const std::vector<Shape> shapes = {{5, 7}, {8, 8}, {1, 9}, {7, 3, 5}, {2, 5, 3, 7, 2}, {3, 0, 4}};
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (const Shape& shape : shapes) {
      const auto full = values<TypeParam>(element_count(shape), 0);
      const int dims = static_cast<int>(shape.size());
      for (int from_dim = 0; from_dim < dims; ++from_dim) {
        for (int to_dim = 0; to_dim < dims; ++to_dim) {
          if (from_dim == to_dim) continue;
          run_group(ranks, [&](Communicator& comm) {
            const auto from = shard_of(full, slicing(shape, from_dim), ranks, comm.rank());
            const auto expected = shard_of(full, slicing(shape, to_dim), ranks, comm.rank());
            std::vector<TypeParam> to(expected.size());
            comm.all_to_all(kDType<TypeParam>, shape, from_dim, to_dim, from.data(), to.data());
            EXPECT_TRUE(same_bits(to, expected))
                << "rank " << comm.rank() << " of " << ranks << ", " << to_string(shape) << " from "
                << from_dim << " to " << to_dim;
          });
        }
      }
    }
  }
}

TYPED_TEST(LocalGroup, BroadcastReachesEveryRankFromAnyRoot) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (int root = 0; root < ranks; ++root) {
      for (const int64_t count : {0, 1, 1001}) {
        const auto expected = values<TypeParam>(count, root);
        run_group(ranks, [&](Communicator& comm) {
          auto data = values<TypeParam>(count, comm.rank());
          comm.broadcast(kDType<TypeParam>, count, root, data.data());
          EXPECT_TRUE(same_bits(data, expected))
              << "rank " << comm.rank() << " of " << ranks << ", root " << root;
        });
      }
    }
  }
}

TEST(Local, EveryRankKnowsItsPlaceAndTheGroupSaysWhatItIs) {
  const auto group = make_local_group(3);
  ASSERT_EQ(group.size(), 3u);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(group[static_cast<size_t>(rank)]->rank(), rank);
    EXPECT_EQ(group[static_cast<size_t>(rank)]->ranks(), 3);
  }
  EXPECT_EQ(group[0]->info().name, "local");
  EXPECT_EQ(group[0]->info().reason.find("3 CPU threads, "), 0u) << group[0]->info().reason;
  EXPECT_EQ(make_local_group(1)[0]->info().reason.find("1 CPU thread, "), 0u);
}

TEST(Local, BarrierHoldsEveryRankUntilTheLastOneArrives) {
  std::atomic<int> arrived = 0;
  run_group(5, [&](Communicator& comm) {
    for (int meeting = 1; meeting <= 50; ++meeting) {
      ++arrived;
      comm.barrier();
      EXPECT_GE(arrived, 5 * meeting);
    }
  });
}

TEST(Local, TimesSayWhoWaitedForWhom) {
  constexpr size_t kLate = 2;
  std::vector<CollectiveTimes> times(4);
  // A busy machine may hold the other ranks back for longer than the late one sleeps: it sleeps longer then.
  bool late_was_last = false;
  for (int milliseconds = 1; !late_was_last && milliseconds <= 1 << 13; milliseconds *= 2) {
    double late_sets_out = 0;
    run_group(4, [&](Communicator& comm) {
      const size_t rank = static_cast<size_t>(comm.rank());
      std::vector<float> data(1000, 1.0F);
      comm.barrier();
      if (rank == kLate) {
        std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
        late_sets_out =
            std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
      }
      times[rank] = comm.all_reduce(DType::Fp32, 1000, data.data());
    });
    double last = 0;
    for (const CollectiveTimes& rank : times) last = std::max(last, rank.arrival_seconds);
    for (const CollectiveTimes& rank : times) {
      EXPECT_EQ(rank.all_arrived_seconds, last) << "the moment the last rank came";
      for (const CollectiveTimes& other : times) EXPECT_LE(other.all_arrived_seconds, rank.done_seconds);
    }
    late_was_last = true;
    for (size_t rank = 0; rank < times.size(); ++rank)
      late_was_last &= rank == kLate || times[rank].arrival_seconds < late_sets_out;
    EXPECT_GE(times[kLate].arrival_seconds, late_sets_out);
  }
  EXPECT_TRUE(late_was_last) << "ranks arrive when they come, not when the last one does";
}

// Many small collectives of all kinds in a row, more ranks than cores: what a step of a small layer looks
// like.
TEST(Local, ManySmallCollectivesInARow) {
  constexpr int kRanks = 8;
  const Slicing slicing{3, 21, 2};
  const Shape shape{9, 10};
  const auto matrix = values<double>(element_count(shape), 3);
  run_group(kRanks, [&](Communicator& comm) {
    const int rank = comm.rank();
    std::vector<double> full(static_cast<size_t>(full_count(slicing)));
    std::vector<double> shard(static_cast<size_t>(shard_count(slicing, kRanks, rank)));
    std::vector<double> rows = shard_of(matrix, shardlens::slicing(shape, 0), kRanks, rank);
    const std::vector<double> columns = shard_of(matrix, shardlens::slicing(shape, 1), kRanks, rank);
    std::vector<double> exchanged(columns.size());
    for (int round = 0; round < 300; ++round) {
      for (size_t i = 0; i < full.size(); ++i) full[i] = static_cast<double>(i) + round + rank;
      comm.reduce_scatter(DType::Fp64, slicing, full.data(), shard.data());
      comm.all_gather(DType::Fp64, slicing, shard.data(), full.data());
      for (size_t i = 0; i < full.size(); ++i) {
        ASSERT_EQ(full[i], kRanks * (static_cast<double>(i) + round) + kRanks * (kRanks - 1) / 2);
      }
      comm.all_to_all(DType::Fp64, shape, 0, 1, rows.data(), exchanged.data());
      ASSERT_EQ(exchanged, columns);
      double sum = rank == round % kRanks ? round : 0;
      comm.all_reduce(DType::Fp64, 1, &sum);
      ASSERT_EQ(sum, round);
      double root = rank;
      comm.broadcast(DType::Fp64, 1, round % kRanks, &root);
      ASSERT_EQ(root, round % kRanks);
    }
  });
}

}  // namespace local_test
}  // namespace shardlens
