// Frees large objects in a worker of its own. A run's samples are hundreds of megabytes. Returning their
// pages takes the system many milliseconds, in which the window could draw nothing.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "engine/base/worker.h"

namespace shardlens::ui {

class BackgroundRelease {
 public:
  BackgroundRelease();
  ~BackgroundRelease();  ///< waits until everything given to it is freed
  BackgroundRelease(const BackgroundRelease&) = delete;
  BackgroundRelease& operator=(const BackgroundRelease&) = delete;

  /// Drops this reference to `thing` soon, in the worker: if it is the last one, the object is freed
  /// there. Null is ignored. May be called from any thread.
  void release(std::shared_ptr<const void> thing);

 private:
  NextTurn turn();

  std::mutex mutex_;
  std::vector<std::shared_ptr<const void>> waiting_;
  bool closed_ = false;
  BackgroundWorker worker_;  ///< last: it uses the others
};

}  // namespace shardlens::ui
