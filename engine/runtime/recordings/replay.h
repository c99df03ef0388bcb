// The studio's worker for replays: one thread that opens a recording, reads only the pass that is shown, and
// publishes ReplaySnapshots. It never waits for the caller and the caller never waits for it.
#pragma once

#include <memory>

#include "engine/runtime/recordings/replay_snapshot.h"

namespace shardlens {

class Replay {
 public:
  Replay();
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  void send(ReplayCommand command);                        ///< returns at once; any thread
  std::shared_ptr<const ReplaySnapshot> snapshot() const;  ///< the newest; never null; any thread
  /// Blocks until nothing is queued, read or played, or until `timeout_seconds` have passed; for tests and
  /// for pictures without a window. Returns the newest snapshot in both cases.
  std::shared_ptr<const ReplaySnapshot> wait_until_idle(double timeout_seconds) const;

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

/// A recorded pass in the form in which the studio shows any run: the result of `plan`. Its provenance is
/// "replayed on" the machine of `header`, or "live on" it if the run goes on. `high_water_bytes` has an entry
/// for each world rank.
std::shared_ptr<const Result> replayed_result(const RecordingHeader& header,
                                              const std::shared_ptr<const Plan>& plan, RecordedPass pass,
                                              const std::vector<BytesByKind>& high_water_bytes,
                                              bool live = false);
/// The same result, marked as live or as no longer live.
std::shared_ptr<const Result> with_liveness(const Result& result, bool live);

}  // namespace shardlens
