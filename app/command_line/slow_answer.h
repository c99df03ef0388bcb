// Says something if a call takes longer than a person expects, without ending it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace shardlens::cli {

/// Says `sentence` on stderr if this object still exists after `patience`.
class SlowAnswer {
 public:
  SlowAnswer(std::string sentence, std::chrono::milliseconds patience);
  ~SlowAnswer();
  SlowAnswer(const SlowAnswer&) = delete;
  SlowAnswer& operator=(const SlowAnswer&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool answered_ = false;
  std::thread thread_;
};

}  // namespace shardlens::cli
