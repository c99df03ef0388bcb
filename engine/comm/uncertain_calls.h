// Calls that may never return, because a library or a GPU hangs. Each has a thread of its own, and nobody
// waits for it longer than a given patience.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace shardlens {

class UncertainCalls {
 public:
  /// Makes the call in a thread of its own. It may outlive this object and all others, so it owns what it
  /// uses. If the system refuses the thread, the call is made here.
  void begin(std::function<void()> call) {
    const auto made = [state = state_](std::function<void()>& what) {
      what();
      what = nullptr;  // what it owns goes before it counts as returned
      const std::lock_guard lock(state->mutex);
      --state->running;
      if (state->let_go) --hanging_;
      state->changed.notify_all();
    };
    {
      const std::lock_guard lock(state_->mutex);
      ++state_->running;
      if (state_->let_go) ++hanging_;
    }
    const auto shared = std::make_shared<std::function<void()>>(std::move(call));
    try {
      std::thread([made, shared] { made(*shared); }).detach();
    } catch (const std::system_error&) {
      made(*shared);
    }
  }

  /// Returns when all calls have returned, or after `seconds`. Those that have not by then are let go.
  void end(double seconds) {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait_for(lock, std::chrono::duration<double>(seconds),
                             [this] { return state_->running == 0; });
    if (state_->running == 0 || std::exchange(state_->let_go, true)) return;
    hanging_ += state_->running;
  }

  /// The number of calls that were let go and have not returned. While there is one, a program must end
  /// without destroying what the thread may still use (std::_Exit).
  static int hanging() { return hanging_; }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    int running = 0;
    bool let_go = false;
  };

  inline static std::atomic<int> hanging_ = 0;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace shardlens
