// A team computes every item once, whatever the number of threads, and ends with its thread.
#include "engine/device/cpu/thread_team.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <thread>
#include <vector>

#include "engine/device/cpu/parallel.h"

namespace shardlens {
namespace thread_team_test {

using cpu::parallel_for;

int threads_of_this_process() {
  int count = 0;
  for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

TEST(ThreadTeam, ComputesEveryItemOnceForAnyNumberOfThreads) {
  for (const int threads : {1, 2, 3, 5, 8}) {
    for (const int64_t items : {0, 1, 2, 3, 7, 8, 64, 1001}) {
      std::vector<std::atomic<int>> done(static_cast<size_t>(items));
      parallel_for(threads, items, [&](int64_t item) { ++done[static_cast<size_t>(item)]; });
      for (const auto& count : done) ASSERT_EQ(count, 1) << items << " items on " << threads << " threads";
    }
  }
}

TEST(ThreadTeam, AThreadComputesNeighbouringItems) {
  std::vector<std::thread::id> by(10);
  parallel_for(4, 10, [&](int64_t item) { by[static_cast<size_t>(item)] = std::this_thread::get_id(); });
  EXPECT_EQ(by[0], std::this_thread::get_id());
  const std::vector<size_t> first_of_range = {0, 3, 6, 8};
  for (size_t item = 1; item < by.size(); ++item) {
    const bool begins = std::count(first_of_range.begin(), first_of_range.end(), item) > 0;
    EXPECT_EQ(by[item] != by[item - 1], begins) << item;
  }
}

TEST(ThreadTeam, CallsFollowEachOtherWithoutMixingTheirItems) {
  std::vector<int64_t> sums(3);
  for (int round = 0; round < 5000; ++round) {
    const int64_t items = 1 + round % 3;
    parallel_for(3, items, [&](int64_t item) { sums[static_cast<size_t>(item)] += round; });
  }
  EXPECT_EQ(sums[0], 5000ll * 4999 / 2);
  EXPECT_EQ(sums[0] + sums[1] + sums[2], [] {
    int64_t all = 0;
    for (int64_t round = 0; round < 5000; ++round) all += round * (1 + round % 3);
    return all;
  }());
}

TEST(ThreadTeam, TheFirstExceptionReachesTheCallerAndTheTeamGoesOn) {
  for (const int64_t bad : {0, 5, 9}) {
    EXPECT_THROW(parallel_for(3, 10,
                              [&](int64_t item) {
                                if (item == bad) throw std::runtime_error("an item");
                              }),
                 std::runtime_error);
  }
  std::atomic<int> done = 0;
  parallel_for(3, 10, [&](int64_t) { ++done; });
  EXPECT_EQ(done, 10);
}

TEST(ThreadTeam, ACallInsideACallRunsOnOneThread) {
  std::atomic<int> done = 0;
  parallel_for(3, 6, [&](int64_t) {
    const std::thread::id own = std::this_thread::get_id();
    parallel_for(3, 6, [&](int64_t) {
      EXPECT_EQ(std::this_thread::get_id(), own);
      ++done;
    });
  });
  EXPECT_EQ(done, 36);
}

TEST(ThreadTeam, EndsWithItsThread) {
  std::thread([] {}).join();  // with the first thread, a sanitizer starts one of its own
  const int before = threads_of_this_process();
  for (int round = 0; round < 20; ++round) {
    std::jthread one([] { parallel_for(3, 3, [](int64_t) {}); });
    std::jthread other([] { parallel_for(5, 5, [](int64_t) {}); });
  }
  // The kernel lists a thread that was joined for a moment more.
  for (int look = 0; look < 1000 && threads_of_this_process() > before; ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(threads_of_this_process(), before);
}

}  // namespace thread_team_test
}  // namespace shardlens
