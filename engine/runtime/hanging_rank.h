// An observer that makes a rank hang on purpose. To the other ranks it looks like a crashed or hung process;
// for demonstrations and tests.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "engine/base/error.h"
#include "engine/runtime/observer.h"

namespace shardlens {

/// Holds one world rank (numbered replica by replica of `ranks`) after a step, until let_go(). The others
/// miss it in their next collective with it, and give it up after Settings::timeout_seconds. Ranks that take
/// turns (ranks_take_turns()) would never be reached again: there it fails at once.
class HangingRank : public StepObserver {
 public:
  HangingRank(int rank, int ranks, StepId step, bool take_turns = false)
      : rank_(rank), ranks_(ranks), step_(step), fails_(take_turns) {}
  ~HangingRank() override { let_go(); }

  void on_tensor(int rank, StepId step, const Tensor&, const void*) override { look(rank, step); }
  void on_replica_tensor(int replica, int rank, StepId step, const Tensor&, const void*) override {
    look(replica * ranks_ + rank, step);
  }

  /// True if it has reached its step.
  bool has_hung() const { return hung_; }
  /// Ends the hang; any thread.
  void let_go() {
    {
      const std::lock_guard lock(mutex_);
      free_ = true;
    }
    changed_.notify_all();
  }

 private:
  void look(int rank, StepId step) {
    if (rank != rank_ || step != step_) return;
    hung_ = true;
    if (fails_) throw run_error("it hangs on purpose, and the ranks that take turns with it cannot go on");
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return free_; });
  }

  const int rank_, ranks_;
  const StepId step_;
  const bool fails_;
  std::atomic<bool> hung_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool free_ = false;
};

}  // namespace shardlens
