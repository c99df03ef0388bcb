// The lane's queue and its thread.
#include "engine/runtime/side_lane.h"

#include "engine/base/threads.h"

namespace shardlens {

SideLane::SideLane() : thread_(start_thread("a rank's overlapped collectives", [this] { main(); })) {}

SideLane::~SideLane() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void SideLane::submit(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
}

void SideLane::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return jobs_.empty() && !running_; });
}

bool SideLane::is_busy() const {
  const std::lock_guard lock(mutex_);
  return running_ || !jobs_.empty();
}

void SideLane::main() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return quit_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    running_ = true;
    lock.unlock();
    job();
    lock.lock();
    running_ = false;
    changed_.notify_all();
  }
}

}  // namespace shardlens
