// The studio's worker for scaling: one thread that computes prices, one that measures this machine, and
// ScalingSnapshots of both. It never waits for the caller and the caller never waits for it.
#pragma once

#include <memory>

#include "engine/runtime/session/scaling_snapshot.h"

namespace shardlens {

class ScalingSession {
 public:
  ScalingSession();
  ~ScalingSession();  ///< gives up the present measurement and joins
  ScalingSession(const ScalingSession&) = delete;
  ScalingSession& operator=(const ScalingSession&) = delete;

  void send(ScalingCommand command);                        ///< returns at once; any thread
  std::shared_ptr<const ScalingSnapshot> snapshot() const;  ///< the newest; never null; any thread
  /// Blocks until nothing is priced, measured or queued, or until `timeout_seconds` have passed; for tests
  /// and for pictures without a window. Returns the newest snapshot in both cases.
  std::shared_ptr<const ScalingSnapshot> wait_until_idle(double timeout_seconds) const;

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace shardlens
