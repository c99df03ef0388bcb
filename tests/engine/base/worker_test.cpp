// Workers, in both builds: every turn that is due is taken, none before, and a wait lets them come forward.
// What holds only where workers take turns on the caller's thread has a name that says so.
#include "engine/base/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/clock.h"

namespace shardlens {
namespace worker_test {

constexpr double kLongEnough = 60;

/// A worker that counts its turns; each is what `turn` returns.
struct Counted {
  explicit Counted(std::function<NextTurn(int)> turn) {
    worker.start("a test", [this, turn] {
      const NextTurn next = turn(turns + 1);
      {
        const std::lock_guard lock(mutex);
        ++turns;
      }
      changed.notify_all();
      return ends ? kEnds : next;
    });
  }
  ~Counted() {
    ends = true;
    worker.wake();
    worker.join();
  }
  bool wait_for(int count, double seconds = kLongEnough) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, seconds, [&] { return turns >= count; });
  }

  std::mutex mutex;
  WaitForWorkers changed;
  std::atomic<int> turns = 0;
  std::atomic<bool> ends = false;
  BackgroundWorker worker;
};

TEST(Worker, ItTakesTurnAfterTurnUntilItHasNoMoreToDo) {
  Counted counted([](int turn) { return turn < 100 ? kAtOnce : kWhenWoken; });
  EXPECT_TRUE(counted.wait_for(100));
  EXPECT_FALSE(counted.wait_for(101, 0.05)) << "nobody has woken it";
}

TEST(Worker, WokenItTakesOneMore) {
  Counted counted([](int) { return kWhenWoken; });
  for (int turn = 1; turn < 50; ++turn) {
    ASSERT_TRUE(counted.wait_for(turn));
    counted.worker.wake();
  }
  EXPECT_TRUE(counted.wait_for(50));
}

TEST(Worker, WokenDuringATurnItTakesOneMore) {
  BackgroundWorker* self = nullptr;
  std::mutex is_set;
  is_set.lock();
  Counted counted([&](int turn) {
    const std::lock_guard lock(is_set);
    if (turn == 1) self->wake();
    return kWhenWoken;
  });
  self = &counted.worker;
  is_set.unlock();
  EXPECT_TRUE(counted.wait_for(2));
}

TEST(Worker, ATurnThatIsDueLaterIsNotTakenBefore) {
  const double begin = now_seconds();
  Counted counted([](int turn) { return turn == 1 ? NextTurn{0.05} : kWhenWoken; });
  EXPECT_TRUE(counted.wait_for(2));
  EXPECT_GE(now_seconds() - begin, 0.05);
}

TEST(Worker, WokenItTakesATurnBeforeItIsDue) {
  Counted counted([](int turn) { return turn == 1 ? NextTurn{kLongEnough} : kWhenWoken; });
  EXPECT_TRUE(counted.wait_for(1));
  counted.worker.wake();
  EXPECT_TRUE(counted.wait_for(2, kLongEnough / 2));
}

TEST(Worker, AWaitEndsWithItsTime) {
  Counted counted([](int) { return kWhenWoken; });
  const double begin = now_seconds();
  EXPECT_FALSE(counted.wait_for(1000, 0.05));
  EXPECT_GE(now_seconds() - begin, 0.05);
}

TEST(Worker, JoinedItHasEndedAndCanStartAgain) {
  BackgroundWorker worker;
  for (int round = 0; round < 2; ++round) {
    int turns = 0;
    EXPECT_FALSE(worker.is_started());
    worker.start("a test", [&] { return ++turns < 3 ? kAtOnce : kEnds; });
    EXPECT_TRUE(worker.is_started());
    worker.join();
    EXPECT_EQ(turns, 3);
  }
}

TEST(Worker, OneCanWaitForAnotherInsideItsTurn) {
  Counted other([](int) { return kWhenWoken; });
  Counted counted([&](int) {
    other.worker.wake();
    EXPECT_TRUE(other.wait_for(1));
    return kWhenWoken;
  });
  EXPECT_TRUE(counted.wait_for(1));
}

TEST(WorkerInTurns, NothingRunsByItself) {
  if (!kWorkersTakeTurns) GTEST_SKIP() << "here a worker is a thread";
  Counted counted([](int turn) { return turn < 3 ? kAtOnce : kWhenWoken; });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(counted.turns, 0);
  EXPECT_EQ(seconds_to_next_turn(), 0);
  EXPECT_FALSE(take_turns(kLongEnough)) << "none is left";
  EXPECT_EQ(counted.turns, 3);
  EXPECT_TRUE(std::isinf(seconds_to_next_turn()));
}

TEST(WorkerInTurns, TurnsEndWhenTheTimeIsOver) {
  if (!kWorkersTakeTurns) GTEST_SKIP() << "here a worker is a thread";
  Counted counted([](int) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return kAtOnce;
  });
  EXPECT_TRUE(take_turns(0)) << "more are due";
  EXPECT_EQ(counted.turns, 1) << "at least one, and no more";
  take_turns(0.02);
  EXPECT_GT(counted.turns, 1);
  EXPECT_LT(counted.turns, 15);
}

TEST(WorkerInTurns, TheyTakeThemOneAfterTheOther) {
  if (!kWorkersTakeTurns) GTEST_SKIP() << "here a worker is a thread";
  std::string order;
  const auto of = [&](char name) {
    return [&order, name](int turn) {
      order += name;
      return turn < 3 ? kAtOnce : kWhenWoken;
    };
  };
  Counted a(of('a')), b(of('b')), c(of('c'));
  take_turns(kLongEnough);
  EXPECT_EQ(order, "abcabcabc");
}

TEST(WorkerInTurns, TheLongestTurnIsKnown) {
  if (!kWorkersTakeTurns) GTEST_SKIP() << "here a worker is a thread";
  take_longest_turn();
  Counted counted([](int turn) {
    if (turn == 2) std::this_thread::sleep_for(std::chrono::milliseconds(30));
    return turn < 3 ? kAtOnce : kWhenWoken;
  });
  take_turns(kLongEnough);
  const LongestTurn longest = take_longest_turn();
  EXPECT_EQ(longest.what, "a test");
  EXPECT_GE(longest.seconds, 0.03);
  EXPECT_EQ(take_longest_turn().seconds, 0);
}

}  // namespace worker_test
}  // namespace shardlens
