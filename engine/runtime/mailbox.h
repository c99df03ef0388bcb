// Connects a worker with its callers: Commands go in through one queue, Snapshots come out as immutable data.
// A caller that sends or reads never waits for the worker, and the worker never waits for a caller. Every
// worker of the studio (Session, TrainingSession, ScalingSession and so on) has one.
//
// The worker is a BackgroundWorker (engine/base/worker.h). Each of its turns is
//
//   if (!mail.begin_turn()) return kEnds;
//   ... take commands, do a piece of the present work, publish ...
//   return mail.end_turn(there_is_work_left);
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "engine/base/worker.h"

namespace shardlens {

template <typename Command, typename Snapshot>
class Mailbox {
 public:
  using Queue = std::deque<Command>;

  // the callers' side; any thread

  /// Appends `command` and returns at once. It first calls `on_arrival(queue)` under the lock. That function
  /// may remove commands that the new one makes needless, and may stop what runs; it must not wait.
  template <typename OnArrival>
  void send(Command command, OnArrival on_arrival) {
    put(command, on_arrival);
  }
  void send(Command command) {
    put(command, [](Queue&) {});
  }

  /// The newest Snapshot.
  std::shared_ptr<const Snapshot> snapshot() const {
    const std::lock_guard lock(mutex_);
    return published_;
  }

  /// Blocks until the queue is empty and the worker works on nothing, or until `timeout_seconds` have passed.
  /// Returns the newest snapshot in both cases.
  std::shared_ptr<const Snapshot> wait_until_idle(double timeout_seconds) const {
    std::unique_lock lock(mutex_);
    idle_.wait_for(lock, timeout_seconds, [this] { return queue_.empty() && resting_ && held_ == 0; });
    return published_;
  }

  /// Starts the worker. After the turn that returns kEnds, `at_end` is called in its place. Throws a run
  /// Error if it cannot start.
  void start(const std::string& what, BackgroundWorker::Turn turn, std::function<void()> at_end = {}) {
    worker_.start(what, [turn = std::move(turn), at_end = std::move(at_end)] {
      const NextTurn next = turn();
      if (next.is_none && at_end) at_end();
      return next;
    });
  }
  bool is_started() const { return worker_.is_started(); }
  /// Returns when the worker has ended; close the mailbox before.
  void join() { worker_.join(); }

  /// Closes the mailbox: the worker's next turn is its last. `stop()` is called under the lock: it stops what
  /// runs.
  template <typename Stop>
  void close(Stop stop) {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      stop();
    }
    worker_.wake();
  }
  void close() {
    close([] {});
  }

  // the worker's side

  void publish(std::shared_ptr<const Snapshot> snapshot) {
    const std::lock_guard lock(mutex_);
    published_ = std::move(snapshot);
  }

  /// Begins a turn. Returns false if the mailbox is closed.
  bool begin_turn() {
    const std::lock_guard lock(mutex_);
    resting_ = false;
    return !closed_;
  }
  /// Ends a turn: the next one is due at once if there is a command or `work_left`. If not, the worker rests
  /// and its mailbox is idle, until a command comes or `seconds` have passed.
  NextTurn end_turn(bool work_left, double seconds = kWhenWoken.seconds) {
    const std::lock_guard lock(mutex_);
    if (closed_ || work_left || !queue_.empty()) return kAtOnce;
    resting_ = true;
    idle_.notify_all();
    return {seconds};
  }

  /// Takes the oldest command, if there is one and `wanted(command)` is true.
  template <typename Wanted>
  std::optional<Command> take_if(Wanted wanted) {
    const std::lock_guard lock(mutex_);
    if (queue_.empty() || !wanted(std::as_const(queue_.front()))) return std::nullopt;
    std::optional<Command> command(std::move(queue_.front()));
    queue_.pop_front();
    return command;
  }
  std::optional<Command> take() {
    return take_if([](const Command&) { return true; });
  }

  /// Calls `begin()` under the lock, unless a command has arrived or the mailbox is closed. `begin` sets up
  /// what on_arrival and close() stop, so no command can arrive in between. Returns true if it was called.
  template <typename Begin>
  bool begin_unless_called(Begin begin) {
    const std::lock_guard lock(mutex_);
    if (closed_ || !queue_.empty()) return false;
    begin();
    return true;
  }

  /// Calls `change()` under the lock that on_arrival and close() run under.
  template <typename Change>
  auto locked(Change change) const {
    const std::lock_guard lock(mutex_);
    return change();
  }

  /// Marks work that goes on outside the worker: the mailbox is not idle until release().
  void hold() {
    const std::lock_guard lock(mutex_);
    ++held_;
  }
  void release() {
    {
      const std::lock_guard lock(mutex_);
      --held_;
    }
    idle_.notify_all();
  }

 private:
  // By reference: GCC 12 warns without reason if a variant is moved once more.
  template <typename OnArrival>
  void put(Command& command, OnArrival on_arrival) {
    {
      const std::lock_guard lock(mutex_);
      on_arrival(queue_);
      queue_.push_back(std::move(command));
      resting_ = false;
    }
    worker_.wake();
  }

  mutable std::mutex mutex_;
  mutable WaitForWorkers idle_;
  Queue queue_;
  std::shared_ptr<const Snapshot> published_;
  bool resting_ = false;  ///< the worker waits for a command
  bool closed_ = false;
  int held_ = 0;
  BackgroundWorker worker_;
};

}  // namespace shardlens
