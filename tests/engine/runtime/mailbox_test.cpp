// Commands go in and Snapshots come out: nothing is lost, no thread waits without need, and "idle" is
// correct.
#include "engine/runtime/mailbox.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace shardlens {
namespace mailbox_test {

using Box = Mailbox<int, std::vector<int>>;

/// A mailbox whose worker publishes every command that it took; `work` is done with each.
class WorkingBox : public Box {
 public:
  template <typename Work>
  explicit WorkingBox(Work work) {
    start("a test", [this, work] {
      if (!begin_turn()) return kEnds;
      while (const std::optional<int> command = take()) {
        work(*command);
        taken_.push_back(*command);
        publish(std::make_shared<std::vector<int>>(taken_));
      }
      return end_turn(false);
    });
  }
  ~WorkingBox() {
    close();
    join();
  }

 private:
  std::vector<int> taken_;
};

TEST(Mailbox, EveryCommandIsTakenInOrderAndThenItIsIdle) {
  WorkingBox box([](int) {});
  std::vector<int> sent;
  for (int i = 0; i < 500; ++i) {
    box.send(i);
    sent.push_back(i);
  }
  const std::shared_ptr<const std::vector<int>> last = box.wait_until_idle(60);
  EXPECT_EQ(*last, sent);
  EXPECT_EQ(box.snapshot(), last);
}

TEST(Mailbox, ItIsNotIdleBeforeTheLastCommandIsDone) {
  Box box;
  std::atomic<bool> may_end = false, ended = false;
  bool works = false;
  box.start("a test", [&] {
    if (!box.begin_turn()) return kEnds;
    if (box.take()) works = true;
    if (works && may_end) {
      works = false;
      ended = true;
    }
    return box.end_turn(works);
  });
  box.send(1);
  EXPECT_EQ(box.wait_until_idle(0.05), nullptr);
  EXPECT_FALSE(ended) << "the command is still worked on";
  may_end = true;
  box.wait_until_idle(60);
  EXPECT_TRUE(ended);
  box.close();
  box.join();
}

TEST(Mailbox, WorkBesideTheWorkerIsNotIdleEither) {
  WorkingBox box([](int) {});
  std::atomic<bool> released = false;
  box.hold();
  std::thread beside([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    released = true;
    box.release();
  });
  box.wait_until_idle(60);
  EXPECT_TRUE(released);
  beside.join();
}

TEST(Mailbox, ARestingWorkerTakesATurnWhenItsTimeHasCome) {
  Box box;
  std::atomic<int> turns = 0;
  box.start("a test", [&] {
    if (!box.begin_turn()) return kEnds;
    return ++turns < 3 ? box.end_turn(false, 0.01) : box.end_turn(false);
  });
  std::mutex mutex;
  WaitForWorkers nobody_tells;
  while (turns < 3) {
    std::unique_lock lock(mutex);
    nobody_tells.wait_for(lock, 0.005, [&] { return turns >= 3; });
  }
  box.wait_until_idle(60);
  EXPECT_EQ(turns, 3);
  bool ended = false;
  box.close([&] { ended = true; });
  box.join();
  EXPECT_TRUE(ended);
}

TEST(Mailbox, TheWorkersEndIsItsLastTurn) {
  Box box;
  bool at_end = false;
  box.start(
      "a test", [&] { return box.begin_turn() ? box.end_turn(false) : kEnds; }, [&] { at_end = true; });
  box.wait_until_idle(60);
  box.close();
  box.join();
  EXPECT_TRUE(at_end);
}

TEST(Mailbox, OneThatArrivesMayReplaceWhatWaits) {
  Box box;
  for (const int command : {7, 8, 9}) box.send(command, [](Box::Queue& queue) { queue.clear(); });
  EXPECT_EQ(box.take_if([](int command) { return command == 8; }), std::nullopt);
  EXPECT_EQ(box.take(), 9);
  EXPECT_EQ(box.take(), std::nullopt);
}

TEST(Mailbox, WorkBeginsOnlyWhereNothingCalls) {
  Box box;
  int begun = 0;
  EXPECT_TRUE(box.begin_unless_called([&] { ++begun; }));
  box.send(1);
  EXPECT_FALSE(box.begin_unless_called([&] { ++begun; }));
  box.take();
  EXPECT_TRUE(box.begin_unless_called([&] { ++begun; }));
  bool stopped = false;
  box.close([&] { stopped = true; });
  EXPECT_TRUE(stopped);
  EXPECT_FALSE(box.begin_unless_called([&] { ++begun; }));
  EXPECT_EQ(begun, 2);
  EXPECT_FALSE(box.begin_turn());
}

}  // namespace mailbox_test
}  // namespace shardlens
