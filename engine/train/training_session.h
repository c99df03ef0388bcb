// The studio's training thread. It trains, takes TrainCommands from one queue between two steps, and
// publishes TrainSnapshots. It never waits for the caller, and the caller never waits for it.
#pragma once

#include <memory>

#include "engine/train/train_snapshot.h"

namespace shardlens {

class TrainingSession {
 public:
  TrainingSession();
  ~TrainingSession();  ///< stops the training and joins the thread
  TrainingSession(const TrainingSession&) = delete;
  TrainingSession& operator=(const TrainingSession&) = delete;

  /// Ends the training as a person who closes the studio wants it: after the present step. Models that are
  /// saved to a checkpoint save their last steps too. `others`: those that are not saved so far are saved in
  /// new folders in Start::checkpoints, or dropped. The last snapshot says what was saved. Nothing may be
  /// sent afterwards.
  enum class Others { Saved, Dropped };
  void end(Others others);

  void send(TrainCommand command);                        ///< returns at once; any thread
  std::shared_ptr<const TrainSnapshot> snapshot() const;  ///< the newest; never null; any thread
  /// Blocks until nothing is being prepared or trained and no command waits, or until `timeout_seconds` have
  /// passed. Returns the newest snapshot. For tests and for pictures without a window.
  std::shared_ptr<const TrainSnapshot> wait_until_idle(double timeout_seconds) const;

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace shardlens
