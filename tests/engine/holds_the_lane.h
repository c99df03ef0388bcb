// Holds rank 0's side lane at its first overlapped step until rank 0 itself has gone on. This shows that the
// two really overlap.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "engine/program/program.h"
#include "engine/runtime/observer.h"

namespace shardlens::testing {

class HoldsTheLane : public StepObserver {
 public:
  explicit HoldsTheLane(const Program& program) : program_(program) {}

  void on_tensor(int rank, StepId step, const Tensor&, const void*) override {
    std::unique_lock lock(mutex_);
    if (step < 0 || rank != 0) return;
    if (!program_.step(step).overlapped) {
      latest_ = std::max(latest_, step);
      changed_.notify_all();
    } else if (!held_) {
      held_ = true;
      went_on_ = changed_.wait_for(lock, std::chrono::seconds(20), [&] { return latest_ > step; });
    }
  }

  bool held() const { return held_; }
  bool went_on() const { return went_on_; }

 private:
  const Program& program_;
  std::mutex mutex_;
  std::condition_variable changed_;
  StepId latest_ = -1;
  bool held_ = false, went_on_ = false;
};

}  // namespace shardlens::testing
