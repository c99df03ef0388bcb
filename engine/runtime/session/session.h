// The studio's worker for runs: one thread that takes Commands from a queue, plans, runs, compares with T =
// 1, and publishes Snapshots. It never waits for the caller and the caller never waits for it.
#pragma once

#include <memory>

#include "engine/runtime/snapshot.h"

namespace shardlens {

class Session {
 public:
  enum class Begin { AtOnce, WhenAsked };
  /// Plans and runs `settings` at once in the background; WhenAsked: does nothing before the first
  /// SetSettings.
  explicit Session(const Settings& settings, Begin begin = Begin::AtOnce);
  ~Session();  ///< cancels what runs and joins
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Cancels what runs and finishes the recording. Nothing may be sent afterwards.
  void end();

  void send(Command command);                        ///< returns at once; any thread
  std::shared_ptr<const Snapshot> snapshot() const;  ///< the newest; never null; any thread
  /// Blocks until a snapshot is Done, Paused, Refused, Failed or Cancelled and nothing is queued, or until
  /// `timeout_seconds` have passed; for tests and for pictures without a window. Returns the newest snapshot
  /// in both cases.
  std::shared_ptr<const Snapshot> wait_until_idle(double timeout_seconds) const;

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace shardlens
