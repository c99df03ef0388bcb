// Work in pieces: it goes on where it gave way, through every Job that it awaits, and what is thrown or
// returned inside comes out.
#include "engine/base/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace shardlens {
namespace job_test {

using ::testing::ElementsAre;

Job<> count(std::vector<int>& to, int begin, int end) {
  for (int i = begin; i < end; ++i) {
    to.push_back(i);
    co_await GiveWay();
  }
}

Job<int> count_twice(std::vector<int>& to) {
  co_await count(to, 0, 2);
  co_await count(to, 10, 12);
  co_return static_cast<int>(to.size());
}

Job<std::string> outermost(std::vector<int>& to) {
  const int counted = co_await count_twice(to);
  co_return std::to_string(counted);
}

TEST(Job, NothingIsDoneBeforeTheFirstPiece) {
  std::vector<int> done;
  Job<> job = count(done, 0, 2);
  EXPECT_TRUE(done.empty());
  EXPECT_FALSE(job.go_on());
  EXPECT_THAT(done, ElementsAre(0));
  EXPECT_FALSE(job.go_on());
  EXPECT_TRUE(job.go_on());
  EXPECT_THAT(done, ElementsAre(0, 1));
}

TEST(Job, APieceOfAnAwaitedJobIsAPieceOfTheOneThatAwaits) {
  std::vector<int> done;
  Job<std::string> job = outermost(done);
  std::vector<size_t> sizes;
  while (!job.go_on()) sizes.push_back(done.size());
  EXPECT_THAT(sizes, ElementsAre(1u, 2u, 3u, 4u));
  EXPECT_THAT(done, ElementsAre(0, 1, 10, 11));
  EXPECT_EQ(job.take(), "4");
}

TEST(Job, ItCanBeDoneWhole) {
  std::vector<int> done;
  EXPECT_EQ(run_whole(outermost(done)), "4");
}

Job<int> fails_after(int pieces) {
  for (int i = 0; i < pieces; ++i) co_await GiveWay();
  throw std::runtime_error("the disk is full");
  co_return 0;
}

Job<std::string> catches(int pieces) {
  try {
    co_await fails_after(pieces);
  } catch (const std::runtime_error& error) {
    co_return error.what();
  }
  co_return "nothing";
}

TEST(Job, WhatIsThrownInsideComesOut) {
  for (const int pieces : {0, 1, 3}) {
    EXPECT_THROW(run_whole(fails_after(pieces)), std::runtime_error);
    EXPECT_EQ(run_whole(catches(pieces)), "the disk is full");
  }
}

Job<> holds(std::shared_ptr<int> held) {
  co_await GiveWay();
  ++*held;
}

Job<> awaits_one_that_holds(std::shared_ptr<int> held) {
  co_await holds(held);
}

TEST(Job, WhatAJobHoldsIsFreedWithItAtAnyPiece) {
  const auto held = std::make_shared<int>(0);
  for (int pieces = 0; pieces < 3; ++pieces) {
    Job<> job = awaits_one_that_holds(held);
    for (int i = 0; i < pieces; ++i) job.go_on();
  }
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(*held, 1) << "the others were given up";
}

TEST(Job, ItCanBeMovedWhileItAwaitsAnother) {
  std::vector<int> done;
  Job<int> job = count_twice(done);
  job.go_on();
  Job<int> moved = std::move(job);
  while (!moved.go_on()) {
  }
  EXPECT_EQ(moved.take(), 4);
}

}  // namespace job_test
}  // namespace shardlens
