// The thread that frees the objects.
#include "ui/platform/background_release.h"

#include <utility>

#include "engine/base/threads.h"

namespace shardlens::ui {

BackgroundRelease::BackgroundRelease() : thread_(start_thread("freeing memory", [this] { main(); })) {}

BackgroundRelease::~BackgroundRelease() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BackgroundRelease::release(std::shared_ptr<const void> thing) {
  if (!thing) return;
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(thing));
  }
  changed_.notify_all();
}

void BackgroundRelease::main() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    std::vector<std::shared_ptr<const void>> taken = std::exchange(waiting_, {});
    lock.unlock();
    taken.clear();
    lock.lock();
  }
}

}  // namespace shardlens::ui
