// A Job that a worker does beside its caller, who asks for the value later.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "engine/base/job.h"

namespace shardlens {

template <typename Value>
class BackgroundCall {
 public:
  /// Begins `job`. `what` it is for: "the speed of this machine". Throws a run Error that names the limits if
  /// its worker cannot start.
  BackgroundCall(const std::string& what, Job<Value> job) : job_(std::move(job)) {
    worker_.start(what, [this] { return turn(); });
  }
  /// Gives it up after the piece that is done now.
  ~BackgroundCall() {
    is_wanted_ = false;
    worker_.join();
  }
  BackgroundCall(const BackgroundCall&) = delete;
  BackgroundCall& operator=(const BackgroundCall&) = delete;

  /// True if it is done; waits for at most `seconds`.
  bool wait_for(double seconds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds, [this] { return is_done_; });
  }
  /// Waits until it is done. Returns its value, or throws what it threw.
  const Value& get() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_done_; });
    if (failure_) std::rethrow_exception(failure_);
    return *value_;
  }

 private:
  NextTurn turn() {
    if (!is_wanted_) return kEnds;
    std::optional<Value> value;
    std::exception_ptr failure;
    try {
      if (!job_.go_on()) return kAtOnce;
      value = job_.take();
    } catch (...) {
      failure = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex_);
      value_ = std::move(value);
      failure_ = failure;
      is_done_ = true;
    }
    changed_.notify_all();
    return kEnds;
  }

  Job<Value> job_;
  std::atomic<bool> is_wanted_ = true;
  std::mutex mutex_;
  WaitForWorkers changed_;
  std::optional<Value> value_;
  std::exception_ptr failure_;
  bool is_done_ = false;
  BackgroundWorker worker_;
};

}  // namespace shardlens
