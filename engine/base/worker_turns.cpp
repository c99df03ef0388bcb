// Workers that take turns on the thread that calls take_turns(). The list of workers is that thread's, and so
// is every turn. Other threads, where there are any, may only wake a worker.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/worker.h"

namespace shardlens {

const bool kWorkersTakeTurns = true;
const double kPieceSeconds = 0.005;

struct WorkerState {
  bool is_due(double now) const { return !in_turn && (woken || now >= due_seconds); }

  std::string what;
  BackgroundWorker::Turn turn;
  bool is_started = false, has_ended = false;
  bool in_turn = false;  ///< the caller waits inside the worker's own turn
  double due_seconds = 0;
  std::atomic<bool> woken = false;
};

namespace {

// While a caller waits and no turn is due: a thread may be at work that wakes a worker.
constexpr double kLookSeconds = 0.001;

/// The workers that have started and not ended, in the order of their turns.
class Round {
 public:
  static Round& of_this_program() {
    static Round round;
    return round;
  }

  void come(WorkerState& worker) { workers_.push_back(&worker); }
  void leave(WorkerState& worker) { std::erase(workers_, &worker); }

  /// Takes the turn of the worker that has waited longest of those whose turn is due. Returns false if no
  /// turn is.
  bool take_one() {
    const double now = now_seconds();
    const auto due = std::find_if(workers_.begin(), workers_.end(),
                                  [now](const WorkerState* worker) { return worker->is_due(now); });
    if (due == workers_.end()) return false;
    WorkerState& worker = **due;
    std::rotate(due, due + 1, workers_.end());
    take(worker);
    return true;
  }

  void take(WorkerState& worker) {
    worker.in_turn = true;
    worker.woken.exchange(false);  // the turn sees what was there before
    const double begin = now_seconds();
    const NextTurn next = worker.turn();
    const double end = now_seconds();
    worker.in_turn = false;
    if (end - begin > longest_.seconds) longest_ = {worker.what, end - begin};
    worker.due_seconds = end + next.seconds;
    if (!next.is_none) return;
    leave(worker);
    worker.has_ended = true;
  }

  double due_seconds() const {
    double due = std::numeric_limits<double>::infinity();
    for (const WorkerState* worker : workers_)
      if (!worker->in_turn) due = std::min(due, worker->woken ? 0 : worker->due_seconds);
    return due;
  }

  LongestTurn take_longest() { return std::exchange(longest_, {}); }

 private:
  std::vector<WorkerState*> workers_;
  LongestTurn longest_;
};

void rest(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace

BackgroundWorker::BackgroundWorker() : state_(std::make_unique<WorkerState>()) {}
BackgroundWorker::~BackgroundWorker() {
  Round::of_this_program().leave(*state_);
}

void BackgroundWorker::start(const std::string& what, Turn turn) {
  state_->what = what;
  state_->turn = std::move(turn);
  state_->is_started = true;
  state_->has_ended = false;
  state_->due_seconds = 0;
  Round::of_this_program().come(*state_);
}

bool BackgroundWorker::is_started() const {
  return state_->is_started;
}

void BackgroundWorker::wake() {
  state_->woken = true;
}

void BackgroundWorker::join() {
  while (!state_->has_ended) Round::of_this_program().take(*state_);
  state_->is_started = false;
}

struct WaitForWorkers::State {};

WaitForWorkers::WaitForWorkers() = default;
WaitForWorkers::~WaitForWorkers() = default;

void WaitForWorkers::notify_all() {}

bool WaitForWorkers::wait_for(std::unique_lock<std::mutex>& lock, double seconds,
                              const std::function<bool()>& happened) {
  const double end = now_seconds() + seconds;
  while (!happened()) {
    if (now_seconds() >= end) return false;
    lock.unlock();
    if (!Round::of_this_program().take_one()) rest(kLookSeconds);
    lock.lock();
  }
  return true;
}

void WaitForWorkers::wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& happened) {
  wait_for(lock, std::numeric_limits<double>::infinity(), happened);
}

bool take_turns(double seconds) {
  const double end = now_seconds() + seconds;
  while (Round::of_this_program().take_one())
    if (now_seconds() >= end) return seconds_to_next_turn() == 0;
  return false;
}

void let_workers_go_on(double seconds) {
  const double end = now_seconds() + seconds;
  do {
    if (!Round::of_this_program().take_one()) rest(std::min(seconds, kLookSeconds));
  } while (now_seconds() < end);
}

double seconds_to_next_turn() {
  return std::max(0.0, Round::of_this_program().due_seconds() - now_seconds());
}

LongestTurn take_longest_turn() {
  return Round::of_this_program().take_longest();
}

}  // namespace shardlens
