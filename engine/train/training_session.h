// The studio's second engine room: one thread that trains, takes TrainCommands from one queue between two
// steps, and publishes TrainSnapshots. Nothing here waits for the caller and the caller never waits for it.
#pragma once

#include <memory>

#include "engine/train/train_snapshot.h"

namespace shardlens {

class TrainingSession {
 public:
  TrainingSession();
  ~TrainingSession();  ///< gives up what is trained and joins
  TrainingSession(const TrainingSession&) = delete;
  TrainingSession& operator=(const TrainingSession&) = delete;

  void send(TrainCommand command);                        ///< returns at once; any thread
  std::shared_ptr<const TrainSnapshot> snapshot() const;  ///< the newest; never null; any thread
  /// Blocks until nothing is prepared or trained and nothing queued; for tests and pictures without a window.
  /// Returns the newest snapshot also when `timeout_seconds` have passed.
  std::shared_ptr<const TrainSnapshot> wait_until_idle(double timeout_seconds) const;

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace shardlens
