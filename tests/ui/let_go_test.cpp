// What the window lets go of is freed on another thread, and all of it in the end.
#include "ui/let_go.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace shardlens::ui {
namespace {

/// Notes on which thread it is freed.
std::shared_ptr<const int> noted(std::thread::id& freed_on) {
  return {new int(1), [&freed_on](const int* number) {
            freed_on = std::this_thread::get_id();
            delete number;
          }};
}

TEST(LetGo, FreesOnAThreadOfItsOwn) {
  std::thread::id freed_on;
  {
    LetGo let_go;
    let_go.take(noted(freed_on));
    let_go.take(nullptr);
  }
  EXPECT_NE(freed_on, std::thread::id());
  EXPECT_NE(freed_on, std::this_thread::get_id());
}

TEST(LetGo, LeavesWhatSomebodyElseStillHolds) {
  std::thread::id freed_on;
  std::shared_ptr<const int> held = noted(freed_on);
  {
    LetGo let_go;
    let_go.take(held);
  }
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(freed_on, std::thread::id());
  held.reset();
  EXPECT_EQ(freed_on, std::this_thread::get_id());
}

TEST(LetGo, EndsWhenEverythingIsFreed) {
  std::atomic<int> freed = 0;
  constexpr int kThings = 100;
  {
    LetGo let_go;
    for (int i = 0; i < kThings; ++i)
      let_go.take(std::shared_ptr<const int>(new int(i), [&freed](const int* number) {
        ++freed;
        delete number;
      }));
  }
  EXPECT_EQ(freed, kThings);
}

}  // namespace
}  // namespace shardlens::ui
