// Where a worker thread and the world meet: Commands go in by one queue, Snapshots come out as immutable
// data. Nobody who sends or reads ever waits for the worker, and the worker waits for nobody. Every engine
// room of the studio (Session, TrainingSession, ScalingSession and so on) has one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace shardlens {

template <typename Command, typename Snapshot>
class Mailbox {
 public:
  using Queue = std::deque<Command>;

  // the world's side; any thread

  /// Appends `command` and returns at once. `on_arrival(queue)` is called first, under the lock: it may take
  /// out what the command makes needless and stop what runs, and must not wait.
  template <typename OnArrival>
  void send(Command command, OnArrival on_arrival) {
    put(command, on_arrival);
  }
  void send(Command command) {
    put(command, [](Queue&) {});
  }

  /// The newest.
  std::shared_ptr<const Snapshot> snapshot() const {
    const std::lock_guard lock(mutex_);
    return published_;
  }

  /// Blocks until nothing is queued and nothing is worked on. Returns the newest snapshot also when
  /// `timeout_seconds` have passed.
  std::shared_ptr<const Snapshot> wait_until_idle(double timeout_seconds) const {
    std::unique_lock lock(mutex_);
    idle_.wait_for(lock, std::chrono::duration<double>(timeout_seconds),
                   [this] { return queue_.empty() && resting_ && held_ == 0; });
    return published_;
  }

  /// No command is taken any more: wait() says so. `stop()` is called under the lock: it stops what runs.
  template <typename Stop>
  void close(Stop stop) {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      stop();
    }
    changed_.notify_all();
  }
  void close() {
    close([] {});
  }

  // the worker's side

  void publish(std::shared_ptr<const Snapshot> snapshot) {
    const std::lock_guard lock(mutex_);
    published_ = std::move(snapshot);
  }

  /// Blocks until a command is there, and not at all while `work_left`. False when the mailbox is closed.
  bool wait(bool work_left) {
    std::unique_lock lock(mutex_);
    if (queue_.empty() && !work_left) {
      resting_ = true;
      idle_.notify_all();
      changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
    }
    resting_ = false;
    return !closed_;
  }
  /// The same for `seconds` at most. Whether a command is there or the mailbox is closed.
  bool rest_for(double seconds) {
    std::unique_lock lock(mutex_);
    resting_ = true;
    idle_.notify_all();
    return changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                             [this] { return closed_ || !queue_.empty(); });
  }

  /// The oldest command, if there is one and it is `wanted(command)`.
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

  /// Calls `begin()` under the lock, unless a command has arrived or the mailbox is closed: what on_arrival
  /// and close() stop is set here, so that nothing slips in between. Whether it was called.
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

  /// Work that goes on beside the worker's thread: nothing is idle until it is released.
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
  // By reference: of a variant that is moved once more GCC 12 warns without reason.
  template <typename OnArrival>
  void put(Command& command, OnArrival on_arrival) {
    {
      const std::lock_guard lock(mutex_);
      on_arrival(queue_);
      queue_.push_back(std::move(command));
      resting_ = false;
    }
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  mutable std::condition_variable idle_;
  Queue queue_;
  std::shared_ptr<const Snapshot> published_;
  bool resting_ = false;  ///< the worker waits for a command
  bool closed_ = false;
  int held_ = 0;
};

}  // namespace shardlens
