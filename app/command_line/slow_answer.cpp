// A thread that waits for the end of the object.
#include "app/command_line/slow_answer.h"

#include <utility>

#include "app/command_line/messages.h"
#include "engine/base/error.h"
#include "engine/base/threads.h"

namespace shardlens::cli {

SlowAnswer::SlowAnswer(std::string sentence, std::chrono::milliseconds patience) {
  try {
    thread_ = start_thread("a word about a slow answer", [this, text = std::move(sentence), patience] {
      std::unique_lock lock(mutex_);
      if (!changed_.wait_for(lock, patience, [this] { return answered_; })) say(text);
    });
  } catch (const Error&) {
    // The call can do without the word.
  }
}

SlowAnswer::~SlowAnswer() {
  {
    const std::lock_guard lock(mutex_);
    answered_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace shardlens::cli
