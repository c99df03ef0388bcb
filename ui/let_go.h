// What is no longer shown, freed beside the window. A run's samples are hundreds of megabytes, and giving
// their pages back takes the system many milliseconds, in which the window's thread could draw nothing.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace shardlens::ui {

class LetGo {
 public:
  LetGo();
  ~LetGo();  ///< when everything taken has been let go
  LetGo(const LetGo&) = delete;
  LetGo& operator=(const LetGo&) = delete;

  /// Lets go of `thing` a moment later, on another thread: if nobody else holds it, it is freed there. Null
  /// is nothing. Any thread.
  void take(std::shared_ptr<const void> thing);

 private:
  void main();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<const void>> things_;
  bool closed_ = false;
  std::thread thread_;  ///< last: it uses the others
};

}  // namespace shardlens::ui
