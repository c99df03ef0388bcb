// Ranks share a GPU, and one does not come, makes a different request, is told to give up, or cannot queue a
// wait on its stream: all ranks get the error, and none waits for ever.
#include <gmock/gmock.h>

#include <thread>

#include "engine/comm/local_cuda.h"
#include "engine/device/cuda/cuda_device.h"
#include "tests/cuda_on_host/streams.h"
#include "tests/engine/comm/on_gpus.h"

namespace shardlens {
namespace {

using ::testing::HasSubstr;

constexpr int kRanks = 3;
constexpr double kPatienceSeconds = 0.3;
// Waits that streams are asked for, by when: the last rank's for the others before
// a collective and behind it, and between the two the others' for the last.
constexpr int kFirstOfTheJoin = 1, kFirstBehind = kFirstOfTheJoin + 2 * (kRanks - 1);

/// Whether the barrier spins.
class LocalCudaFailures : public ::testing::TestWithParam<bool> {
 protected:
  LocalCudaFailures() {
    for (int rank = 0; rank < kRanks; ++rank) devices_.push_back(make_cuda_device(0));
  }
  ~LocalCudaFailures() override {
    on_host::allows_wait = {};
    group_.clear();  // before the devices
  }

  /// In each rank's thread, with a number in its memory, which is the host's.
  Failures run(const std::function<void(Communicator&, void* one)>& body) {
    return run_ranks(group_, [&](Communicator& comm) {
      const auto rank = static_cast<size_t>(comm.rank());
      comm.attach(*devices_[rank]);
      body(comm, &numbers_[rank]);
    });
  }

  /// From now on, wait by wait.
  static void allow_waits_by(const std::function<bool(int number)>& allows) {
    on_host::allows_wait = [allows, before = on_host::stream_waits.load()](int number) {
      return allows(number - before);
    };
  }

  void expect_all_told_of(int refused) {
    allow_waits_by([refused](int number) { return number != refused; });
    const Failures failures =
        run([](Communicator& comm, void* one) { comm.all_reduce(DType::Fp32, 1, one); });
    for (const auto& failure : failures) {
      ASSERT_TRUE(failure) << "wait " << refused;
      EXPECT_EQ(failure->kind(), ErrorKind::Run);
      EXPECT_THAT(failure->what(),
                  HasSubstr("ranks that share a GPU on the GPU: cudaStreamWaitEvent failed"));
    }
  }

  float numbers_[kRanks] = {};
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Communicator>> group_ =
      make_local_cuda_group(kRanks, "a test", kPatienceSeconds, GetParam());
};

TEST_P(LocalCudaFailures, WhoDoesNotComeIsLostByName) {
  std::vector<int> lost[kRanks];
  const Failures failures = run([&](Communicator& comm, void* one) {
    comm.all_reduce(DType::Fp32, 1, one);
    if (comm.rank() == 1) return;
    try {
      comm.all_reduce(DType::Fp32, 1, one);
    } catch (const LostRanks& error) {
      lost[comm.rank()] = error.ranks();
      throw;
    }
  });
  EXPECT_FALSE(failures[1]);
  for (const size_t rank : {0, 2}) {
    EXPECT_EQ(lost[rank], std::vector<int>{1});
    ASSERT_TRUE(failures[rank]);
    EXPECT_THAT(failures[rank]->what(),
                HasSubstr("rank 1 did not come to the all-reduce of 1 fp32 in 0.3 s"));
  }
}

TEST_P(LocalCudaFailures, ThoseThatDisagreeAllSaySo) {
  for (const auto& failure : run([](Communicator&comm, void*one) {
         comm.all_reduce(DType::Fp32, comm.rank() == 2 ? 0 : 1, one);
       })) {
    ASSERT_TRUE(failure);
    EXPECT_THAT(failure->what(), HasSubstr("rank 2 called all-reduce of 0 fp32"));
  }
}

TEST_P(LocalCudaFailures, ThoseThatWaitCanBeToldToGiveUp) {
  const Failures failures = run([&](Communicator& comm, void* one) {
    if (comm.rank() != 0) return comm.all_reduce(DType::Fp32, 1, one), void();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    comm.abort("the run was given up");
  });
  for (const size_t rank : {1, 2}) {
    ASSERT_TRUE(failures[rank]);
    EXPECT_EQ(failures[rank]->kind(), ErrorKind::Cancelled);
    EXPECT_STREQ(failures[rank]->what(), "the run was given up");
  }
}

TEST_P(LocalCudaFailures, WhereTheLastCannotJoinTheOthersAllAreTold) {
  expect_all_told_of(kFirstOfTheJoin);
}

TEST_P(LocalCudaFailures, WhereTheLastCannotJoinTheOthersBehindACollectiveAllAreTold) {
  expect_all_told_of(kFirstBehind);
}

// It has come, but lets nobody pass.
TEST_P(LocalCudaFailures, WhoHangsAsItJoinsTheOthersIsLostByName) {
  for (const int hanging : {kFirstOfTheJoin, kFirstBehind}) {
    group_ = make_local_cuda_group(kRanks, "a test", kPatienceSeconds, GetParam());
    std::atomic<int> hangs = -1, told = 0;
    thread_local int own_rank = -1;
    allow_waits_by([&hangs, &told, hanging](int number) {
      if (number != hanging) return true;
      hangs = own_rank;
      while (told < kRanks - 1) std::this_thread::yield();
      return true;
    });
    std::vector<int> lost[kRanks];
    const Failures failures = run([&](Communicator& comm, void* one) {
      own_rank = comm.rank();
      try {
        comm.all_reduce(DType::Fp32, 1, one);
      } catch (const LostRanks& error) {
        lost[comm.rank()] = error.ranks();
        ++told;
        throw;
      }
    });
    for (size_t rank = 0; rank < kRanks; ++rank) {
      ASSERT_TRUE(failures[rank]);
      EXPECT_EQ(lost[rank], std::vector<int>{hangs}) << failures[rank]->what();
    }
  }
}

// The others are done with the collective, and their communicators are gone, before it asks for its last
// wait.
TEST_P(LocalCudaFailures, WhoIsBehindMayWaitForARankThatHasGone) {
  std::atomic<int> gone = 0;
  constexpr int kLast = kFirstBehind + 2 * (kRanks - 1) - 1;
  allow_waits_by([&gone](int number) {
    while (number == kLast && gone < kRanks - 1) std::this_thread::yield();
    return true;
  });
  const Failures failures = run([&](Communicator& comm, void* one) {
    comm.all_reduce(DType::Fp32, 1, one);
    const int rank = comm.rank();
    group_[static_cast<size_t>(rank)].reset();
    ++gone;
  });
  for (const auto& failure : failures) EXPECT_FALSE(failure) << failure->what();
}

INSTANTIATE_TEST_SUITE_P(Barriers, LocalCudaFailures, ::testing::Bool());

}  // namespace
}  // namespace shardlens
