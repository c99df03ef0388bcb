// The worker that frees the objects: one in each turn, because each can take milliseconds.
#include "ui/platform/background_release.h"

#include <utility>

namespace shardlens::ui {

BackgroundRelease::BackgroundRelease() {
  worker_.start("freeing memory", [this] { return turn(); });
}

BackgroundRelease::~BackgroundRelease() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  worker_.wake();
  worker_.join();
}

void BackgroundRelease::release(std::shared_ptr<const void> thing) {
  if (!thing) return;
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(thing));
  }
  worker_.wake();
}

NextTurn BackgroundRelease::turn() {
  std::shared_ptr<const void> taken;  // freed after the lock
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) return closed_ ? kEnds : kWhenWoken;
  taken = std::move(waiting_.back());
  waiting_.pop_back();
  return kAtOnce;
}

}  // namespace shardlens::ui
