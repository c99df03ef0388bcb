// The communicator over NCCL, between threads and between processes, with NCCL's calls played by their
// definitions: what it packs, asks for and puts in place gives the local communicator's bits, and ranks that
// are processes lose who does not come by name.
#include "engine/comm/nccl.h"

#include <gmock/gmock.h>
#include <nccl.h>

#include "engine/comm/process_group.h"
#include "engine/device/cuda/cuda_device.h"
#include "tests/cuda_on_host/on_gpus.h"
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
          make_nccl_rank(make_process_meeting(*processes[static_cast<size_t>(rank)], std::move(place)),
                         "threads in a test", patience_seconds));
    }
  }
  std::vector<std::unique_ptr<ThreadProcesses>> processes;
  std::vector<std::unique_ptr<Communicator>> group;
};

int own_gpu(int rank) {
  return rank;
}
int first_gpu(int) {
  return 0;
}

// As run_ranks(), each rank on a GPU of its own.
Failures run_on_devices(std::vector<std::unique_ptr<Communicator>>& group,
                        const std::function<void(Communicator&)>& body) {
  return run_on_gpus(group, own_gpu, body);
}

TEST(NcclOnHost, GivesTheBitsAndCountsTheBytesOfTheLocalOne) {
  std::mt19937 random(7);
  for (int ranks = 1; ranks <= 5; ++ranks) {
    const DrawnAndDone drawn(random, ranks, 80);
    auto nccl = make_nccl_group(ranks, "a test", 20);
    drawn.expect_the_same(nccl, own_gpu, "threads");
    OverProcesses over(ranks);
    drawn.expect_the_same(over.group, own_gpu, "processes");
  }
}

// Where a GPU is waited for as a whole, as before memory is freed, ranks that share it wait for one another.
TEST(NcclOnHost, RanksMayShareAGpuAndItsBlocks) {
  constexpr int kRanks = 4;
  std::mt19937 random(8);
  auto group = make_nccl_group(kRanks, "a test", 60);
  DrawnAndDone(random, kRanks, 60).expect_the_same(group, first_gpu, "one GPU");
  EXPECT_EQ(last_blocks_allowed(), 8);
  // One comes last and needs more scratch than before.
  auto growing = make_nccl_group(kRanks, "a test", 60);
  for (const auto& failure : run_on_gpus(growing, first_gpu, [](Communicator& comm) {
         for (const int64_t outer : {2, 4, 8}) {
           std::vector<float> shard(static_cast<size_t>(outer), 1.0f), full(kRanks * shard.size());
           if (comm.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
           comm.all_gather(DType::Fp32, {outer, kRanks, 1}, shard.data(), full.data());
         }
       }))
    EXPECT_FALSE(failure) << failure->what();
  auto apart = make_nccl_group(2, "a test", 60);
  for (const auto& failure : run_on_devices(apart, [](Communicator&) {})) EXPECT_FALSE(failure);
  EXPECT_EQ(last_blocks_allowed(), 0);
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
  auto group = make_nccl_group(3, "a test", 0.3);
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
  auto group = make_nccl_group(2, "a test", 60);
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
    EXPECT_THAT(failure->what(), HasSubstr("rank 1 of the group did not come to its first meeting in 0.3"));
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
    }
  });
  ASSERT_TRUE(failures[0]);
  EXPECT_EQ(failures[0]->kind(), ErrorKind::Cancelled);
  EXPECT_STREQ(failures[0]->what(), "the run was given up");
}

}  // namespace
}  // namespace shardlens
