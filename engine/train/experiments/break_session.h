// The studio's thread for planted faults. It plants faults and compares, takes BreakCommands from one queue
// between two steps, and publishes BreakSnapshots. It never waits for the caller, and the caller never waits
// for it.
#pragma once

#include <memory>

#include "engine/train/experiments/break_snapshot.h"

namespace shardlens {

class BreakSession {
 public:
  BreakSession();
  ~BreakSession();  ///< stops what runs and joins the thread
  BreakSession(const BreakSession&) = delete;
  BreakSession& operator=(const BreakSession&) = delete;

  void send(BreakCommand command);                        ///< returns at once; any thread
  std::shared_ptr<const BreakSnapshot> snapshot() const;  ///< the newest; never null; any thread
  /// Blocks until nothing runs and no command waits, or until `timeout_seconds` have passed. Returns the
  /// newest snapshot. For tests and for pictures without a window.
  std::shared_ptr<const BreakSnapshot> wait_until_idle(double timeout_seconds) const;

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace shardlens
