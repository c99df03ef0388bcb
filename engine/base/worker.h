// The workers: what goes on beside the window or the command line (a session, a training, the writer of a
// recording). A worker's work comes in turns. A turn does a piece of what there is to do, and says when the
// next one is due. The same turns run in two ways, and the build chooses the file (SHARDLENS_WORKERS):
//
//   worker_thread.cpp   each worker is a thread, which takes turn after turn and sleeps in between
//   worker_turns.cpp    nothing runs by itself: whoever draws frames or waits calls take_turns(). For a
//                       program without threads, such as one in a page of the web
//
// The code of a worker is the same in both. What it must keep to for the second: a turn never blocks, and is
// over in some milliseconds. Work that lasts longer is cut into pieces of kPieceSeconds (engine/base/job.h).
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>

namespace shardlens {

/// True if workers take turns on the thread that calls take_turns(); false if each is a thread.
extern const bool kWorkersTakeTurns;
/// How long a piece of work may last before its turn ends. Among threads a turn may last for as long as it
/// likes.
extern const double kPieceSeconds;

/// What a turn returns: when the next one is due.
struct NextTurn {
  double seconds = 0;  ///< from now on; sooner if the worker is woken
  bool is_none = false;
};
inline constexpr NextTurn kAtOnce{}, kWhenWoken{std::numeric_limits<double>::infinity()}, kEnds{0, true};

struct WorkerState;

class BackgroundWorker {
 public:
  using Turn = std::function<NextTurn()>;

  BackgroundWorker();
  ~BackgroundWorker();  ///< has never been started, or was joined
  BackgroundWorker(const BackgroundWorker&) = delete;
  BackgroundWorker& operator=(const BackgroundWorker&) = delete;

  /// Begins to take turns, the first at once. `what` it is for: "a session". `turn` must not throw. Throws a
  /// run Error that names the limits if its thread cannot start.
  void start(const std::string& what, Turn turn);
  bool is_started() const;  ///< and not joined yet
  /// A turn is due. Any thread; it never waits, and is no matter before the start and after the end.
  void wake();
  /// Returns when a turn has returned kEnds. Somebody must have told the worker to end.
  void join();

 private:
  const std::unique_ptr<WorkerState> state_;
};

/// Where a caller waits for what workers do: a condition variable, but workers that take turns take them
/// meanwhile.
class WaitForWorkers {
 public:
  WaitForWorkers();
  ~WaitForWorkers();

  void notify_all();
  /// Blocks until `happened()`, which is called under `lock`, or until `seconds` have passed. Returns what
  /// happened() said last.
  bool wait_for(std::unique_lock<std::mutex>& lock, double seconds, const std::function<bool()>& happened);
  void wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& happened);

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

/// Lets the workers take the turns that are due, one after the other, until none is or `seconds` have passed;
/// at least one. Returns true if more are due. Always on one and the same thread. Threads need no call: does
/// nothing.
bool take_turns(double seconds);
/// Waits for `seconds`, in which workers come forward.
void let_workers_go_on(double seconds);
/// When the next turn is due, from now on. Infinity: not before a worker is woken, or they are threads.
double seconds_to_next_turn();

/// The longest turn since the last call, and whose it was; 0 if they are threads.
struct LongestTurn {
  std::string what;
  double seconds = 0;
};
LongestTurn take_longest_turn();

}  // namespace shardlens
