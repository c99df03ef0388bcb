// Either all members pass a barrier or none does, whenever it is broken; and a waiting member sleeps.
#include "engine/comm/barrier.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <time.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <deque>
#include <thread>
#include <vector>

namespace shardlens {
namespace barrier_test {

TEST(Barrier, AllMembersPassTheSameMeetingsBeforeItBreaks) {
  for (int round = 0; round < 200; ++round) {
    const int members = 2 + round % 4;
    Barrier barrier(members, round % 2 == 0);
    std::vector<int> passed(static_cast<size_t>(members), 0);
    {
      std::vector<std::jthread> threads;
      for (int& count : passed) {
        threads.emplace_back([&] {
          while (barrier.pass()) {
            barrier.pass_unbroken();
            ++count;
          }
        });
      }
      std::this_thread::sleep_for(std::chrono::microseconds(20 * (round % 10)));
      barrier.break_up();
    }
    for (const int count : passed) ASSERT_EQ(count, passed[0]) << members << " members, round " << round;
  }
}

TEST(Barrier, WhatTheLastDoesIsDoneOnceBeforeAnybodyPasses) {
  constexpr int kMembers = 4, kMeetings = 300;
  for (const bool spins : {false, true}) {
    Barrier barrier(kMembers, spins);
    std::atomic<int> seen_early = 0;
    int done = 0;  // by the last of each meeting, read by all behind it
    {
      std::vector<std::jthread> threads;
      for (int member = 0; member < kMembers; ++member) {
        threads.emplace_back([&] {
          for (int meeting = 1; meeting <= kMeetings; ++meeting) {
            const bool passed = meeting % 2 == 0 ? barrier.pass({}, [&] { ++done; })
                                                 : barrier.pass_unbroken({}, [&] { ++done; });
            if (!passed || done != meeting) ++seen_early;
            if (!barrier.pass()) ++seen_early;  // nobody comes to the next before all have read it
          }
        });
      }
    }
    EXPECT_EQ(seen_early, 0);
    EXPECT_EQ(done, kMeetings);
  }
}

// One that breaks it as it does so ends the meeting for all, itself too.
TEST(Barrier, TheLastMayBreakItBeforeAnybodyPasses) {
  constexpr int kMembers = 3;
  Barrier barrier(kMembers, true);
  std::atomic<int> passed = 0;
  {
    std::vector<std::jthread> threads;
    for (int member = 0; member < kMembers; ++member)
      threads.emplace_back([&] { passed += barrier.pass({}, [&] { barrier.break_up(); }) ? 1 : 0; });
  }
  EXPECT_EQ(passed, 0);
}

// The break and the last arrival at the same instant, often enough that each comes first many times.
TEST(Barrier, OneOutcomeForAllWhenABreakMeetsTheLastArrival) {
  constexpr size_t kRounds = 4000;
  std::deque<Barrier> barriers;
  for (size_t round = 0; round < kRounds; ++round) barriers.emplace_back(2, true);
  std::vector<char> first(kRounds), second(kRounds);
  std::barrier start(3);
  {
    std::jthread one([&] {
      for (size_t round = 0; round < kRounds; ++round) {
        start.arrive_and_wait();
        first[round] = barriers[round].pass();
      }
    });
    std::jthread other([&] {
      for (size_t round = 0; round < kRounds; ++round) {
        start.arrive_and_wait();
        for (size_t delay = 0; delay < round % 64; ++delay)
          std::atomic_signal_fence(std::memory_order_seq_cst);
        second[round] = barriers[round].pass();
      }
    });
    for (Barrier& barrier : barriers) {
      start.arrive_and_wait();
      barrier.break_up();
    }
  }
  EXPECT_EQ(first, second);
}

TEST(Barrier, UnbreakableMeetingOutlivesABreak) {
  Barrier barrier(2, false);
  std::atomic<bool> left = false;
  std::jthread waiter([&] {
    barrier.pass_unbroken();
    left = true;
  });
  barrier.break_up();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(left);
  barrier.pass_unbroken();
  waiter.join();
  EXPECT_TRUE(left);
  EXPECT_FALSE(barrier.pass());
}

TEST(Barrier, WaitersBurnNoCore) {
  for (const bool spins : {false, true}) {
    Barrier barrier(8, spins);
    std::vector<double> cpu_seconds(7, 0);
    {
      std::vector<std::jthread> threads;
      for (double& seconds : cpu_seconds) {
        threads.emplace_back([&] {
          barrier.pass_unbroken();
          timespec used{};
          clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
          seconds = static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
        });
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(400));
      barrier.pass_unbroken();
    }
    for (const double seconds : cpu_seconds) EXPECT_LT(seconds, 0.1) << "of 0.4 s waited, spins " << spins;
  }
}

}  // namespace barrier_test
}  // namespace shardlens
