// A thread that waits for the end of the object.
#include "app/command_line/slow_answer.h"

#include <utility>

#include "app/command_line/messages.h"

namespace shardlens::cli {

SlowAnswer::SlowAnswer(std::string sentence, std::chrono::milliseconds patience)
    : thread_([this, text = std::move(sentence), patience] {
        std::unique_lock lock(mutex_);
        if (!changed_.wait_for(lock, patience, [this] { return answered_; })) say(text);
      }) {}

SlowAnswer::~SlowAnswer() {
  {
    const std::lock_guard lock(mutex_);
    answered_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

}  // namespace shardlens::cli
