// A second thread of a rank, for collectives that overlap with its computation: an input gradient's
// all-reduce while the weight's gradient is computed, the all-reduces of a row-parallel product's first rows
// while the next rows are computed, and the gradients' all-reduces over the replicas while the backward pass
// goes on.
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

  /// Appends `job`; it runs after those submitted before it. Returns at once. A job must not throw.
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
