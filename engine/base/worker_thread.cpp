// Workers that are threads.
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <utility>

#include "engine/base/threads.h"
#include "engine/base/worker.h"

namespace shardlens {

const bool kWorkersTakeTurns = false;
const double kPieceSeconds = 1e9;  // as long as a clock can hold

struct WorkerState {
  void rest(double seconds) {
    std::unique_lock lock(mutex);
    const auto is_woken = [this] { return woken.load(); };
    if (std::isfinite(seconds))
      changed.wait_for(lock, std::chrono::duration<double>(seconds), is_woken);
    else
      changed.wait(lock, is_woken);
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> woken = false;
  std::thread thread;
};

BackgroundWorker::BackgroundWorker() : state_(std::make_unique<WorkerState>()) {}
BackgroundWorker::~BackgroundWorker() = default;

void BackgroundWorker::start(const std::string& what, Turn turn) {
  state_->thread = start_thread(what, [state = state_.get(), turn = std::move(turn)] {
    for (;;) {
      state->woken.exchange(false);  // the turn sees what was there before
      const NextTurn next = turn();
      if (next.is_none) return;
      if (next.seconds > 0) state->rest(next.seconds);
    }
  });
}

bool BackgroundWorker::is_started() const {
  return state_->thread.joinable();
}

void BackgroundWorker::wake() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->woken = true;
  }
  state_->changed.notify_all();
}

void BackgroundWorker::join() {
  state_->thread.join();
}

struct WaitForWorkers::State {
  std::condition_variable changed;
};

WaitForWorkers::WaitForWorkers() : state_(std::make_unique<State>()) {}
WaitForWorkers::~WaitForWorkers() = default;

void WaitForWorkers::notify_all() {
  state_->changed.notify_all();
}

bool WaitForWorkers::wait_for(std::unique_lock<std::mutex>& lock, double seconds,
                              const std::function<bool()>& happened) {
  return state_->changed.wait_for(lock, std::chrono::duration<double>(seconds), happened);
}

void WaitForWorkers::wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& happened) {
  state_->changed.wait(lock, happened);
}

bool take_turns(double) {
  return false;
}

void let_workers_go_on(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

double seconds_to_next_turn() {
  return std::numeric_limits<double>::infinity();
}

LongestTurn take_longest_turn() {
  return {};
}

}  // namespace shardlens
