// What the window no longer needs is freed by a worker, and in the end all of it is freed.
#include "ui/platform/background_release.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/base/worker.h"

namespace shardlens::ui {
namespace background_release_test {

/// Notes on which thread it is freed.
std::shared_ptr<const int> noted(std::thread::id& freed_on) {
  return {new int(1), [&freed_on](const int* number) {
            freed_on = std::this_thread::get_id();
            delete number;
          }};
}

TEST(BackgroundRelease, FreesOnAThreadOfItsOwn) {
  std::thread::id freed_on;
  {
    BackgroundRelease released;
    released.release(noted(freed_on));
    released.release(nullptr);
  }
  EXPECT_NE(freed_on, std::thread::id());
  if (!kWorkersTakeTurns) {
    EXPECT_NE(freed_on, std::this_thread::get_id());
  }
}

TEST(BackgroundRelease, LeavesWhatSomebodyElseStillHolds) {
  std::thread::id freed_on;
  std::shared_ptr<const int> held = noted(freed_on);
  {
    BackgroundRelease released;
    released.release(held);
  }
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(freed_on, std::thread::id());
  held.reset();
  EXPECT_EQ(freed_on, std::this_thread::get_id());
}

TEST(BackgroundRelease, EndsWhenEverythingIsFreed) {
  std::atomic<int> freed = 0;
  constexpr int kThings = 100;
  {
    BackgroundRelease released;
    for (int i = 0; i < kThings; ++i)
      released.release(std::shared_ptr<const int>(new int(i), [&freed](const int* number) {
        ++freed;
        delete number;
      }));
  }
  EXPECT_EQ(freed, kThings);
}

}  // namespace background_release_test
}  // namespace shardlens::ui
