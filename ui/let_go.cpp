// The thread that frees.
#include "ui/let_go.h"

#include <utility>

namespace shardlens::ui {

LetGo::LetGo() : thread_([this] { main(); }) {}

LetGo::~LetGo() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void LetGo::take(std::shared_ptr<const void> thing) {
  if (!thing) return;
  {
    const std::lock_guard lock(mutex_);
    things_.push_back(std::move(thing));
  }
  changed_.notify_all();
}

void LetGo::main() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closed_ || !things_.empty(); });
    if (things_.empty()) return;
    std::vector<std::shared_ptr<const void>> taken = std::exchange(things_, {});
    lock.unlock();
    taken.clear();
    lock.lock();
  }
}

}  // namespace shardlens::ui
