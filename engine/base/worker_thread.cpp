// Workers that are threads.
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <utility>

#include "engine/base/threads.h"
#include "engine/base/worker.h"

namespace shardlens {

const bool kWorkersTakeTurns = false;
const double kPieceSeconds = std::numeric_limits<double>::infinity();

struct WorkerState {
  void rest(double seconds) {
    std::unique_lock lock(mutex);
    const auto is_woken = [this] { return woken; };
    if (std::isfinite(seconds))
      changed.wait_for(lock, std::chrono::duration<double>(seconds), is_woken);
    else
      changed.wait(lock, is_woken);
    woken = false;
  }

  std::mutex mutex;
  std::condition_variable changed;
  bool woken = false;
  std::thread thread;
};

BackgroundWorker::BackgroundWorker() : state_(std::make_unique<WorkerState>()) {}
BackgroundWorker::~BackgroundWorker() = default;

void BackgroundWorker::start(const std::string& what, Turn turn) {
  state_->thread = start_thread(what, [state = state_.get(), turn = std::move(turn)] {
    for (NextTurn next = turn(); !next.is_none; next = turn())
      if (next.seconds > 0) state->rest(next.seconds);
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

bool take_turns(double) {
  return false;
}

double seconds_to_next_turn() {
  return std::numeric_limits<double>::infinity();
}

LongestTurn take_longest_turn() {
  return {};
}

}  // namespace shardlens
