// How many bytes a collective carries, from its shape: what the local communicator counts, and the bandwidth
// by the definition of nccl-tests.
#include "engine/comm/carried.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/engine/comm/group_of_ranks.h"

namespace shardlens {
namespace carried_test {

TEST(Carried, IsWhatTheLocalCommunicatorCounts) {
  for (const int ranks : {1, 2, 3, 4}) {
    for (const int64_t extent : {1, 7, 12}) {
      auto group = make_local_group(ranks);
      const Failures failures = run_ranks(group, [&](Communicator& comm) {
        std::vector<double> a(4096), b(4096);
        const int rank = comm.rank();
        const Slicing axis{3, extent, 5};
        const int64_t count = extent * 33;
        EXPECT_EQ(carried_bytes(all_reduce_request(DType::Fp32, count, Reduction::Sum), ranks, rank),
                  comm.all_reduce(DType::Fp32, count, a.data()).sent_bytes);
        EXPECT_EQ(carried_bytes(sliced_request(Call::ReduceScatter, DType::Fp64, axis), ranks, rank),
                  comm.reduce_scatter(DType::Fp64, axis, a.data(), b.data()).sent_bytes);
        EXPECT_EQ(carried_bytes(sliced_request(Call::AllGather, DType::Bf16, axis), ranks, rank),
                  comm.all_gather(DType::Bf16, axis, a.data(), b.data()).sent_bytes);
        const Shape shape{2, extent, 3, 5, 2};
        for (const auto& [from, to] : {std::pair{1, 3}, std::pair{3, 1}}) {
          EXPECT_EQ(carried_bytes(exchange_request(DType::Fp32, shape, from, to), ranks, rank),
                    comm.all_to_all(DType::Fp32, shape, from, to, a.data(), b.data()).sent_bytes);
        }
        EXPECT_EQ(carried_bytes(broadcast_request(DType::Fp32, count, ranks - 1, ranks), ranks, rank),
                  comm.broadcast(DType::Fp32, count, ranks - 1, a.data()).sent_bytes);
      });
      for (const auto& failure : failures) EXPECT_FALSE(failure.has_value()) << failure->what();
    }
  }
}

TEST(Carried, WhatLiesInOnePieceIsNotPacked) {
  for (const Call call : {Call::ReduceScatter, Call::AllGather}) {
    EXPECT_EQ(packed_bytes(sliced_request(call, DType::Fp32, {1, 7, 5}), 2, 0), 0);
    EXPECT_EQ(packed_bytes(sliced_request(call, DType::Fp32, {3, 7, 5}), 2, 0), 3 * 7 * 5 * 4);
  }
  // All of its three rows of seven goes out, and its four columns of six come in, or three.
  const Request exchange = exchange_request(DType::Bf16, {6, 7}, 0, 1);
  EXPECT_EQ(packed_bytes(exchange, 2, 0), (3 * 7 + 6 * 4) * 2);
  EXPECT_EQ(packed_bytes(exchange, 2, 1), (3 * 7 + 6 * 3) * 2);
  EXPECT_EQ(packed_bytes(all_reduce_request(DType::Fp32, 9, Reduction::Sum), 2, 0), 0);
  // The other ranks' terms of what this rank sums.
  EXPECT_EQ(packed_bytes(all_reduce_request(DType::Bf16, 1024, Reduction::Sum), 4, 3), 3 * 256 * 2);
  EXPECT_EQ(packed_bytes(all_reduce_request(DType::Bf16, 1024, Reduction::Max), 4, 3), 0);
  EXPECT_EQ(packed_bytes(sliced_request(Call::ReduceScatter, DType::Fp16, {1, 7, 5}), 2, 0), 4 * 5 * 2);
  EXPECT_EQ(packed_bytes(sliced_request(Call::ReduceScatter, DType::Fp16, {3, 7, 5}), 2, 1),
            (3 * 7 * 5 + 3 * 3 * 5) * 2);
  EXPECT_EQ(packed_bytes(sliced_request(Call::AllGather, DType::Fp16, {1, 7, 5}), 2, 1), 0);
}

// The factors as nccl-tests' page on performance gives them.
TEST(Carried, BandwidthIsThatOfNcclTests) {
  const double seconds = 0.5;
  const int64_t bytes = 1000;
  for (const Call call :
       {Call::AllReduce, Call::ReduceScatter, Call::AllGather, Call::AllToAll, Call::Broadcast})
    EXPECT_DOUBLE_EQ(bandwidth(call, bytes, 4, seconds).algorithm, 2000);
  EXPECT_DOUBLE_EQ(bandwidth(Call::AllReduce, bytes, 4, seconds).bus, 3000);
  EXPECT_DOUBLE_EQ(bandwidth(Call::AllReduce, bytes, 2, seconds).bus, 2000);
  EXPECT_DOUBLE_EQ(bandwidth(Call::ReduceScatter, bytes, 4, seconds).bus, 1500);
  EXPECT_DOUBLE_EQ(bandwidth(Call::AllGather, bytes, 4, seconds).bus, 1500);
  EXPECT_DOUBLE_EQ(bandwidth(Call::AllToAll, bytes, 4, seconds).bus, 1500);
  EXPECT_DOUBLE_EQ(bandwidth(Call::Broadcast, bytes, 4, seconds).bus, 2000);
}

}  // namespace carried_test
}  // namespace shardlens
