// Commands go in and Snapshots come out: nothing is lost, no thread waits without need, and "idle" is
// correct.
#include "engine/runtime/mailbox.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace shardlens {
namespace mailbox_test {

using Box = Mailbox<int, std::vector<int>>;

/// Publishes every command it took; `work` is done with each.
template <typename Work>
std::thread worker(Box& box, Work work) {
  return std::thread([&box, work] {
    std::vector<int> taken;
    while (box.wait(false)) {
      while (const std::optional<int> command = box.take()) {
        work(*command);
        taken.push_back(*command);
        box.publish(std::make_shared<std::vector<int>>(taken));
      }
    }
  });
}

TEST(Mailbox, EveryCommandIsTakenInOrderAndThenItIsIdle) {
  Box box;
  std::thread thread = worker(box, [](int) {});
  std::vector<int> sent;
  for (int i = 0; i < 500; ++i) {
    box.send(i);
    sent.push_back(i);
  }
  const std::shared_ptr<const std::vector<int>> last = box.wait_until_idle(60);
  EXPECT_EQ(*last, sent);
  EXPECT_EQ(box.snapshot(), last);
  box.close();
  thread.join();
}

TEST(Mailbox, ItIsNotIdleBeforeTheLastCommandIsDone) {
  Box box;
  std::atomic<bool> may_end = false, ended = false;
  std::thread thread = worker(box, [&](int) {
    may_end.wait(false);
    ended = true;
  });
  box.send(1);
  EXPECT_EQ(box.wait_until_idle(0.05), nullptr) << "the command is still worked on";
  may_end = true;
  may_end.notify_all();
  box.wait_until_idle(60);
  EXPECT_TRUE(ended);
  box.close();
  thread.join();
}

TEST(Mailbox, WorkBesideTheWorkerIsNotIdleEither) {
  Box box;
  std::atomic<bool> released = false;
  std::thread thread = worker(box, [](int) {});
  box.hold();
  std::thread beside([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    released = true;
    box.release();
  });
  box.wait_until_idle(60);
  EXPECT_TRUE(released);
  beside.join();
  box.close();
  thread.join();
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
  EXPECT_FALSE(box.wait(true));
}

}  // namespace mailbox_test
}  // namespace shardlens
