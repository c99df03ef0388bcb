// Frees large objects on another thread. A run's samples are hundreds of megabytes. Returning their
// pages takes the system many milliseconds, in which the window's thread could draw nothing.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace shardlens::ui {

class BackgroundRelease {
 public:
  BackgroundRelease();
  ~BackgroundRelease();  ///< waits until everything given to it is freed
  BackgroundRelease(const BackgroundRelease&) = delete;
  BackgroundRelease& operator=(const BackgroundRelease&) = delete;

  /// Drops this reference to `thing` soon, on the other thread: if it is the last one, the object is freed
  /// there. Null is ignored. May be called from any thread.
  void release(std::shared_ptr<const void> thing);

 private:
  void main();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<const void>> waiting_;
  bool closed_ = false;
  std::thread thread_;  ///< last: it uses the others
};

}  // namespace shardlens::ui
