// The communicator over NCCL, between threads and between processes, with NCCL's calls simulated by their
// definitions. It gives the same bits as the local communicator. If a rank that is a process does not come,
// the error names it.
#include "engine/comm/nccl.h"

#include <gmock/gmock.h>
#include <nccl.h>

#include <cmath>
#include <cstdlib>
#include <future>

#include "engine/comm/carried.h"
#include "engine/comm/process_group.h"
#include "engine/comm/uncertain_calls.h"
#include "engine/device/cuda/cuda_device.h"
#include "engine/device/gpu_environment.h"
#include "engine/io/half.h"
#include "tests/engine/comm/on_gpus.h"
#include "tests/engine/comm/thread_processes.h"

namespace shardlens {
namespace {

using ::testing::HasSubstr;

struct OverProcesses {
  explicit OverProcesses(int ranks, double patience_seconds = 20) : processes(make_thread_processes(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) {
      ProcessGroup place;
      for (int r = 0; r < ranks; ++r) place.members.push_back(r);
      place.rank = rank;
      place.patience_seconds = patience_seconds;
      group.push_back(
          make_nccl_rank(make_process_meeting(*processes[static_cast<size_t>(rank)], std::move(place)), 1,
                         "threads in a test", patience_seconds));
    }
  }
  std::vector<std::unique_ptr<ThreadProcesses>> processes;
  std::vector<std::unique_ptr<Communicator>> group;
};

std::unique_ptr<Device> own_gpu(int rank) {
  return make_cuda_device(rank);
}
std::unique_ptr<Device> first_gpu(int) {
  return make_cuda_device(0);
}

// As run_ranks(), each rank on a GPU of its own.
Failures run_on_devices(std::vector<std::unique_ptr<Communicator>>& group,
                        const std::function<void(Communicator&)>& body) {
  return run_on_gpus(group, own_gpu, body);
}

// Groups of 1 to `most` ranks, as threads and as processes, do `count` collectives to the local one's bits.
void expect_the_bits_of_the_local_one(unsigned seed, int most, int count) {
  std::mt19937 random(seed);
  for (int ranks = 1; ranks <= most; ++ranks) {
    const DrawnAndDone drawn(random, ranks, count);
    auto nccl = make_nccl_group(ranks, 1, "a test", 20);
    drawn.expect_the_same(nccl, own_gpu, "threads");
    OverProcesses over(ranks);
    drawn.expect_the_same(over.group, own_gpu, "processes");
  }
}

TEST(NcclOnHost, GivesTheBitsAndCountsTheBytesOfTheLocalOne) {
  expect_the_bits_of_the_local_one(7, 5, 80);
}

// NCCL's own sums are rounded after each rank's term.
TEST(NcclOnHost, SumsOf16BitsAreRoundedOnce) {
  constexpr int kRanks = 8;
  std::mt19937 random(9);
  for (const DType dtype : {DType::Bf16, DType::Fp16}) {
    // Terms from 0.5 to 1: the exponent, and a random mantissa.
    const int exponent = dtype == DType::Bf16 ? 0x3f00 : 0x3800;
    const int mantissas = dtype == DType::Bf16 ? 1 << 7 : 1 << 10;
    for (const size_t count : {5, kRanks * 64, 1000}) {
      std::vector<std::vector<uint16_t>> sums(kRanks, std::vector<uint16_t>(count));
      std::vector<double> exact(count);
      for (std::vector<uint16_t>& own : sums) {
        for (uint16_t& term : own)
          term =
              static_cast<uint16_t>(exponent + static_cast<int>(random() % static_cast<unsigned>(mantissas)));
        const std::vector<float> terms = widened(dtype, own.data(), count);
        for (size_t i = 0; i < count; ++i) exact[i] += terms[i];
      }
      auto group = make_nccl_group(kRanks, 1, "a test", 60);
      for (const auto& failure : run_on_devices(group, [&](Communicator& comm) {
             comm.all_reduce(dtype, static_cast<int64_t>(count),
                             sums[static_cast<size_t>(comm.rank())].data());
           }))
        EXPECT_FALSE(failure) << failure->what();
      const std::vector<float> found = widened(dtype, sums[0].data(), count);
      for (size_t i = 0; i < count; ++i)
        ASSERT_LE(std::abs(found[i] - exact[i]), exact[i] / (2 * mantissas)) << to_string(dtype) << " " << i;
      for (const std::vector<uint16_t>& other : sums) EXPECT_EQ(other, sums[0]);
    }
  }
}

// As NCCL_COMM_BLOCKING=1 makes them.
class BlockingNccl : public ::testing::Test {
 protected:
  BlockingNccl() { setenv("NCCL_COMM_BLOCKING", "1", 1); }
  ~BlockingNccl() override { unsetenv("NCCL_COMM_BLOCKING"); }
};

TEST_F(BlockingNccl, GivesTheBitsOfTheLocalOne) {
  expect_the_bits_of_the_local_one(10, 4, 60);
}

// The watch does not wait for the call.
TEST_F(BlockingNccl, ACallThatDoesNotReturnEndsTheGroup) {
  OverProcesses over(2, 0.3);
  const Failures failures = run_on_devices(over.group, [](Communicator& comm) {
    std::vector<float> data(8, 1);
    comm.all_reduce(DType::Fp32, 8, data.data());
    if (comm.rank() == 1) let_call_hang(1);
    try {
      comm.all_reduce(DType::Fp32, 8, data.data());
    } catch (...) {
      let_call_hang(-1);
      throw;
    }
  });
  EXPECT_TRUE(failures[0]);
  ASSERT_TRUE(failures[1]);
  EXPECT_STREQ(failures[1]->what(),
               "NCCL on rank 1 did not return from its call for the all-reduce of 8 fp32 in 0.3 s");
}

// Where a GPU is waited for as a whole, as before memory is freed, ranks that share it wait for one another.
TEST(NcclOnHost, RanksMayShareAGpuAndItsBlocks) {
  constexpr int kRanks = 4;
  prepare_gpu_environment();
  auto apart = make_nccl_group(2, 1, "a test", 60);
  for (const auto& failure : run_on_devices(apart, [](Communicator&) {})) EXPECT_FALSE(failure);
  EXPECT_EQ(last_blocks_allowed(), 0);
  // Beside them ranks of other groups.
  std::mt19937 random(8);
  auto group = make_nccl_group(kRanks, kRanks + 2, "a test", 60);
  DrawnAndDone(random, kRanks, 60).expect_the_same(group, first_gpu, "one GPU");
  EXPECT_EQ(last_blocks_allowed(), 4) << "a power of two";
  // One comes last and needs more scratch than before.
  auto growing = make_nccl_group(kRanks, kRanks, "a test", 60);
  for (const auto& failure : run_on_gpus(growing, first_gpu, [](Communicator& comm) {
         for (const int64_t outer : {2, 4, 8}) {
           std::vector<float> shard(static_cast<size_t>(outer), 1.0f), full(kRanks * shard.size());
           if (comm.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
           comm.all_gather(DType::Fp32, {outer, kRanks, 1}, shard.data(), full.data());
         }
       }))
    EXPECT_FALSE(failure) << failure->what();
}

// To connect takes seconds, and allocates: that may wait for the kernel of another rank on the GPU, and that
// one for this rank.
TEST(NcclOnHost, RanksAreConnectedBeforeTheirCollectives) {
  prepare_gpu_environment();
  for (const int ranks_per_gpu : {1, 2}) {
    std::atomic<int> before = -1;
    auto group = make_nccl_group(2, ranks_per_gpu, "a test", 60);
    const int at_first = late_connections();
    for (const auto& failure :
         run_on_gpus(group, ranks_per_gpu == 1 ? own_gpu : first_gpu, [&](Communicator& comm) {
           comm.barrier();  // all are attached
           before = late_connections();
           comm.barrier();
           std::vector<uint16_t> data(8, 0);
           comm.all_reduce(DType::Bf16, 8, data.data());
           comm.all_to_all(DType::Bf16, {2, 4}, 0, 1, data.data(), data.data());
         }))
      EXPECT_FALSE(failure) << failure->what();
    EXPECT_EQ(late_connections(), before);
    EXPECT_EQ(before - at_first, 2) << "for sends, by the start itself";
  }
}

TEST(NcclOnHost, AnOrdinaryEndAbortsNothing) {
  const int aborted = communicators_aborted(), destroyed = communicators_destroyed();
  auto group = make_nccl_group(3, 1, "a test", 60);
  const auto body = [](Communicator& comm) {
    float one = 1;
    comm.all_reduce(DType::Fp32, 1, &one);
  };
  for (const auto& failure : run_on_devices(group, body)) EXPECT_FALSE(failure);
  EXPECT_EQ(communicators_aborted(), aborted);
  EXPECT_EQ(communicators_destroyed() - destroyed, 3);
}

TEST(NcclOnHost, AnAbortThatNeverReturnsIsLetGo) {
  let_aborts_hang(true);
  {
    auto group = make_nccl_group(2, 1, "a test", 60);
    run_on_devices(group, [](Communicator& comm) { comm.abort("the run was given up"); });
  }
  EXPECT_EQ(UncertainCalls::hanging(), 2);
  let_aborts_hang(false);
  while (UncertainCalls::hanging() > 0) std::this_thread::yield();
}

/// Ranks on devices of the first GPU, whose calls do not wait for what they ask for.
struct OnOneGpu {
  explicit OnOneGpu(int ranks) : group(make_nccl_group(ranks, ranks, "a test", 5)) {
    while (devices.size() < group.size()) devices.push_back(make_cuda_device(0));
  }
  ~OnOneGpu() { group.clear(); }

  using Body = std::function<void(Communicator&, Device&)>;
  Failures run(const Body& body) {
    return run_ranks(group, [&](Communicator& comm) {
      Device& device = *devices[static_cast<size_t>(comm.rank())];
      comm.attach(device);
      body(comm, device);
    });
  }
  void expect_done(const Body& body) {
    for (const auto& failure : run(body)) EXPECT_FALSE(failure) << failure->what();
  }

  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::unique_ptr<Communicator>> group;
};

// Memory is freed when all of the GPU is done: what runs there may not wait for what this rank has still to
// ask for.
TEST(NcclOnHost, ARankThatWaitsForTheGpuKeepsNobodyWaiting) {
  OnOneGpu ranks(3);
  ranks.expect_done([](Communicator& comm, Device& device) {
    void* const data = device.allocate(sizeof(float));
    for (int i = 0; i < 4; ++i) {
      if (comm.rank() == 2) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        device.release(device.allocate(1));
      }
      comm.all_reduce(DType::Fp32, 1, data);
    }
    device.synchronize();
    device.release(data);
  });
}

// Of what there is room for: a run makes it for its largest before any of its collectives.
TEST(NcclOnHost, NothingIsAllocatedWhileCollectivesRun) {
  constexpr int64_t kRows = 5, kCols = 7;  // neither rank's columns lie in one piece
  OnOneGpu ranks(2);
  ranks.expect_done([](Communicator& comm, Device& device) {
    const Slicing slicing{kRows, 2, kCols};
    comm.make_room(packed_bytes(sliced_request(Call::AllGather, DType::Fp32, slicing), 2, comm.rank()));
    void* const full = device.allocate(2 * kRows * kCols * sizeof(float));
    void* const shard = device.allocate(kRows * kCols * sizeof(float));
    comm.all_reduce(DType::Fp32, kRows, full);  // behind it all ranks have what they need
    const int before = on_host::allocations;
    for (int i = 0; i < 3; ++i) comm.all_gather(DType::Fp32, slicing, shard, full);
    EXPECT_EQ(on_host::allocations, before);
    comm.all_reduce(DType::Fp32, kRows, full);
    device.synchronize();
    device.release(full);
    device.release(shard);
  });
}

TEST(NcclOnHost, WhoGoesOnKnowsThatAllRanksPartsAreOnTheirStreams) {
  OnOneGpu ranks(3);
  const int before = calls_begun();  // each begins one more, to connect
  ranks.expect_done([&](Communicator& comm, Device& device) {
    void* const data = device.allocate(sizeof(float));
    for (int i = 1; i <= 4; ++i) {
      comm.all_reduce(DType::Fp32, 1, data);
      EXPECT_GE(calls_begun() - before, 3 * (i + 1)) << "rank " << comm.rank();
    }
    device.synchronize();
    device.release(data);
  });
}

// What a group frees with its last communicator waits for what runs on the GPU, which may be another group's.
TEST(NcclOnHost, GroupsAreGivenUpSideBySide) {
  OnOneGpu ranks(2), others(2);
  for (OnOneGpu* const group : {&ranks, &others}) group->expect_done([](Communicator&, Device&) {});
  let_aborts_wait_for(4);
  for (OnOneGpu* const group : {&ranks, &others}) group->group.front()->abort("the run was given up");
  for (OnOneGpu* const group : {&ranks, &others}) group->group.clear();
  EXPECT_TRUE(aborts_met());
}

TEST(NcclOnHost, WhoWaitsForMemoryCanBeToldToGiveUp) {
  constexpr int64_t kRows = 3, kCols = 512;  // neither as many bytes as anything else
  OnOneGpu ranks(2);
  on_host::stuck_bytes = 2 * kRows * kCols * sizeof(float);
  std::future<Failures> failures = std::async(std::launch::async, [&] {
    return ranks.run([](Communicator& comm, Device&) {
      std::vector<float> shard(kRows * kCols, 1), full(2 * shard.size());
      comm.all_gather(DType::Fp32, {kRows, 2, kCols}, shard.data(), full.data());
    });
  });
  while (on_host::stuck_allocations < 2) std::this_thread::yield();
  std::future<void> told =
      std::async(std::launch::async, [&] { ranks.group.front()->abort("the run was given up"); });
  EXPECT_EQ(told.wait_for(std::chrono::seconds(5)), std::future_status::ready);
  on_host::stuck_bytes = 0;
  for (const auto& failure : failures.get()) {
    ASSERT_TRUE(failure);
    EXPECT_STREQ(failure->what(), "the run was given up");
  }
}

// Of three ranks the last one does not come to the second collective.
void expect_lost_by_name(std::vector<std::unique_ptr<Communicator>>& group) {
  std::vector<int> lost;
  const Failures failures = run_on_devices(group, [&](Communicator& comm) {
    std::vector<float> data(8, 1);
    comm.all_reduce(DType::Fp32, 8, data.data());
    if (comm.rank() == 2) return;
    try {
      comm.all_reduce(DType::Fp32, 8, data.data());
    } catch (const LostRanks& error) {
      if (comm.rank() == 0) lost = error.ranks();
      throw;
    }
  });
  EXPECT_EQ(lost, std::vector<int>{2});
  EXPECT_TRUE(failures[0] && failures[1] && !failures[2]);
}

TEST(NcclOnHost, OfThreadsTheOneThatDoesNotComeIsLostByName) {
  auto group = make_nccl_group(3, 1, "a test", 0.3);
  expect_lost_by_name(group);
}

TEST(NcclOnHost, OfProcessesTheOneThatDoesNotComeIsLostByName) {
  OverProcesses over(3, 0.3);
  expect_lost_by_name(over.group);
}

TEST(NcclOnHost, ProcessesThatDisagreeAllSaySo) {
  OverProcesses over(2);
  for (const auto& failure : run_on_devices(over.group, [](Communicator& comm) {
         std::vector<float> data(8, 1);
         comm.all_reduce(DType::Fp32, 7 + comm.rank(), data.data());
       })) {
    ASSERT_TRUE(failure);
    EXPECT_THAT(failure->what(), HasSubstr("rank 1 called all-reduce of 8 fp32"));
  }
}

TEST(NcclOnHost, ThreadsThatDisagreeAllSaySo) {
  auto group = make_nccl_group(2, 1, "a test", 60);
  for (const auto& failure : run_on_devices(group, [](Communicator& comm) {
         std::vector<float> data(8, 1);
         comm.all_reduce(DType::Fp32, 7 + comm.rank(), data.data());
       })) {
    ASSERT_TRUE(failure);
    EXPECT_THAT(failure->what(), HasSubstr("rank 1 called all-reduce of 8 fp32"));
  }
}

TEST(NcclOnHost, AProcessThatNeverBeginsIsNamed) {
  OverProcesses over(3, 0.3);
  std::vector<std::unique_ptr<Communicator>> two;
  for (const int rank : {0, 2}) two.push_back(std::move(over.group[static_cast<size_t>(rank)]));
  const auto device = make_cuda_device(0), other = make_cuda_device(0);
  for (const auto& failure :
       run_ranks(two, [&](Communicator& comm) { comm.attach(comm.rank() == 0 ? *device : *other); })) {
    ASSERT_TRUE(failure);
    EXPECT_THAT(failure->what(), HasSubstr("rank 1 did not join the group in 0.3"));
  }
  two.clear();
}

TEST(NcclOnHost, WhoWaitsForAnotherProcessCanBeToldToGiveUp) {
  OverProcesses over(2);
  const Failures failures = run_on_devices(over.group, [&](Communicator& comm) {
    std::vector<float> data(8, 1);
    if (comm.rank() == 0) comm.all_reduce(DType::Fp32, 8, data.data());
    if (comm.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      over.group[0]->abort("the run was given up");
      comm.abort("so is its other half");  // a run that ends gives up all its processes
    }
  });
  ASSERT_TRUE(failures[0]);
  EXPECT_EQ(failures[0]->kind(), ErrorKind::Cancelled);
  EXPECT_STREQ(failures[0]->what(), "the run was given up");
}

}  // namespace
}  // namespace shardlens
