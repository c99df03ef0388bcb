// A second thread beside a rank's own, for what may go on while the rank computes: an input gradient's
// all-reduce while the weight's gradient is computed, those of a row-parallel product's first rows while the
// next are, and the gradients' over the replicas while the backward pass goes on.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace shardlens {

class SideLane {
 public:
  SideLane();
  ~SideLane();  ///< finishes what was submitted
  SideLane(const SideLane&) = delete;
  SideLane& operator=(const SideLane&) = delete;

  /// Runs `job` after those submitted before it; returns at once. A job must not throw.
  void submit(std::function<void()> job);
  /// Blocks until all jobs are done; what they wrote may then be read.
  void drain();
  bool is_busy() const;

 private:
  void main();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool running_ = false;
  bool quit_ = false;
  std::thread thread_;
};

}  // namespace shardlens
