// The studio's third engine room: one thread that plants faults and compares, takes BreakCommands from one
// queue between two steps, and publishes BreakSnapshots. Nothing here waits for the caller and the caller
// never waits for it.
#pragma once

#include <memory>

#include "engine/train/experiments/break_snapshot.h"

namespace shardlens {

class BreakSession {
 public:
  BreakSession();
  ~BreakSession();  ///< gives up what runs and joins
  BreakSession(const BreakSession&) = delete;
  BreakSession& operator=(const BreakSession&) = delete;

  void send(BreakCommand command);                        ///< returns at once; any thread
  std::shared_ptr<const BreakSnapshot> snapshot() const;  ///< the newest; never null; any thread
  /// Blocks until nothing runs and nothing is queued; for tests and pictures without a window. Returns the
  /// newest snapshot also when `timeout_seconds` have passed.
  std::shared_ptr<const BreakSnapshot> wait_until_idle(double timeout_seconds) const;

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace shardlens
