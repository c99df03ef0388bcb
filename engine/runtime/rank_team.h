// The rank threads behind an Executor, and what they share. A rank's thread owns its team together with the
// Executor. So a thread that never returns keeps its memory, its program and its communicators alive, and no
// other thread has to wait for it.
//
// Protocol. All ranks run the same steps in the same order.
// - Claims. A shared target says how many steps may run. A rank claims a step under the lock, runs it without
//   the lock, and publishes its event without the lock.
// - Pause. Raising the target lets ranks go on. Pausing lowers it to the furthest step that any rank has
//   claimed. So all ranks stop at one boundary, and no collective is left incomplete.
// - Going back means to run again from the start. The run is deterministic, so the bits are the same; weights
//   that an optimizer has changed are fed again.
// - Overlapped steps (the sums over the ranks of input gradients and of parts of a product, and the sums of
//   gradients over the replicas) run in a lane, a second thread of the rank. A step waits for the lane if it
//   touches what an overlapped step sums, or if its collective is among the same ranks. A rank also waits for
//   its lane before it stands still.
// - A device that works behind its calls: the rank asks for steps ahead of it. Its steps count as done, and
//   their events are published, after the rank has looked up their marks. In a pass that is not traced, the
//   rank marks one step in many and the end of the pass; it claims steps that may run together at once and
//   asks for them with one call.
// - Pass after pass (run_passes()): the rank that ends a pass last begins the next one. The other ranks spin
//   for a moment before they sleep.
// - A rank that is delayed on purpose (Plan::holds) stands still before its step begins, without the lock,
//   until its time is over or the run is paused or given up.
// - Failures. The first failure is kept with its rank and step. The communicators are aborted, so no rank
//   waits for the one that failed, and wait() throws the failure.
// - Ranks that live in other processes (world.h) have no thread here. They are told what the ranks here are
//   told, and report when they stand still.
//
// A lost rank. A rank that waits for it in a collective reports it after Settings::timeout_seconds
// (engine/comm/comm.h). If all other ranks have finished, the caller of wait() reports it. This is a failure
// of the rank that did not come, like any other failure. While a run is paused no rank is in a collective, so
// no time counts. A thread that hangs cannot be ended from outside; disband() detaches it. If every process
// has one rank only, a rank that waits in vain does not know if the other rank is lost or waits too. So the
// first process collects what all ranks report for a moment before it believes one report.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "engine/device/panels.h"
#include "engine/runtime/arena.h"
#include "engine/runtime/asked_steps.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/feed.h"
#include "engine/runtime/side_lane.h"

namespace shardlens {

class RankTeam : public std::enable_shared_from_this<RankTeam> {
 public:
  /// The ranks of `seats`, without threads yet; `lender` may be null.
  RankTeam(std::shared_ptr<const Plan> plan, std::shared_ptr<RankTeam> lender, std::unique_ptr<Seats> seats);
  ~RankTeam();
  void begin();  ///< starts the threads; call it before anything else
  /// Gives up what runs and waits until the threads have ended: a moment if the run lost a rank, else as long
  /// as ranks wait for one another. Threads that have not ended are detached; they share the ownership of all
  /// that they use. abandoned_ranks() counts them until they end.
  void disband();

  // The methods of Executor, which passes its calls on.
  void observe(std::vector<std::shared_ptr<StepObserver>> observers);
  void set_traced(bool traced);
  void start(size_t target);
  void start(size_t target, double begin_seconds);
  void rewind();
  void next_pass(PassInputs inputs);
  void next_pass();
  void run_passes(const PassSource& next);
  void set_inputs(PassInputs inputs);
  void read_tensor(int rank, TensorId tensor, void* host) const;
  void write_tensor(int rank, TensorId tensor, const void* host);
  void pause();
  void cancel(const std::string& why);
  void wait();
  bool wait_for(double seconds);
  size_t position() const;
  size_t steps() const { return plan_->program.steps.size(); }
  CommunicatorInfo communicator() const;
  const Seats& seats() const { return *seats_; }
  const RankTrace& trace(int rank) const;
  std::vector<std::vector<StepEvent>> events(int ranks) const;
  BytesByKind high_water_bytes(int rank) const;

 private:
  struct Failure {
    ErrorKind kind = ErrorKind::Run;
    std::string message;
    std::optional<RunFailure> what;  ///< null: it is not known
  };

  /// The collective that the rank began last, and if it is still inside.
  struct Meeting {
    std::atomic<StepId> step = -1;
    std::atomic<bool> inside = false;
  };

  // Memory outlives the threads: a rank that failed must not free what another rank still reads in a
  // collective.
  struct Rank {
    int index = 0;     ///< among the T of its replica
    int replica = 0;   ///< among the D
    bool here = true;  ///< false: it lives in another process, and the fields below are what is known of it
    int threads = 1;   ///< how many it may compute with
    std::unique_ptr<Device> device;  ///< outlives the fields below: they are attached to it or in its memory
    RankGroups groups;
    std::unique_ptr<Arenas> arenas;
    std::vector<std::byte> staging;  ///< room for any of its tensors that the host cannot use in place
    std::unique_ptr<RankTrace> trace;
    std::unique_ptr<SideLane> lane;     ///< null if no step is overlapped on a thread
    std::unique_ptr<AskedSteps> asked;  ///< null if its device does not work behind its calls
    std::map<StepId, double> holds;     ///< seconds that it stands still before these steps
    uint64_t weights_of = 0;            ///< the number of the feeding that its weights come from
    bool written = false;               ///< from outside, since the last pass
    bool ready = false;                 ///< memory fed
    size_t claimed = 0;                 ///< steps begun in this pass
    size_t done = 0;                    ///< steps finished in this pass
    double claimed_seconds = 0;         ///< when it began its present step
    int core = -1;                      ///< the core on which it began this pass; -1: not known
    std::array<Meeting, 2> meetings;    ///< of its thread, and of its lane
    uint64_t reported = 0;              ///< in another process: the start() after which it last stood still
    BytesByKind high_water_bytes{};
    bool is_meeting() const { return meetings[0].inside || meetings[1].inside; }
    bool running = false;    ///< its thread has not ended
    bool abandoned = false;  ///< its thread is detached: no thread waits for its end any more
    std::thread thread;
  };
  struct Elsewhere;  ///< hears of the ranks that live in other processes

  void rank_main(Rank& rank);
  void come_to_rest(Rank& rank);
  void come_to_target(std::unique_lock<std::mutex>& lock);
  void watch_for_next_pass(std::unique_lock<std::mutex>& lock) const;
  void prepare(Rank& rank);
  size_t end_of_call_locked(const Rank& rank) const;
  void run_steps(Rank& rank, std::span<const Step> steps, double begin_of_pass, double held_seconds);
  CollectiveTimes run(Rank& rank, std::span<const Step> steps);
  void look_up(Rank& rank, size_t left, double begin_of_pass, StepId& at);
  double last_arrival(const Rank& rank, StepId id) const;
  void begin_steps(Rank& rank, std::span<const Step> steps, double begin_of_pass);
  double stand_still(double seconds);
  void take_core_locked(Rank& rank);
  void feed_lasting(Rank& rank, bool lent) const;
  void feed_master(Rank& rank, const Tensor& master, const Tensor* weight) const;
  void feed_pass(Rank& rank, uint64_t pass, uint64_t weights_of);
  double begin_fed_pass();
  void show(int replica, int rank, StepId step, const Tensor& tensor, const void* data) const;
  void start_at(size_t target, std::optional<double> begin_seconds);
  void show(Rank& rank, StepId step, const Tensor& tensor) const;
  const void* host_copy(Rank& rank, const Tensor& tensor) const;
  template <typename Fill>
  void fill_tensor(Rank& rank, const Tensor& tensor, const Fill& fill) const;
  size_t slice_bytes(const Rank& rank, const Tensor& tensor) const;
  bool is_staged(const Rank& rank, const Tensor& tensor) const;
  Panels panels(const Rank& rank, const Tensor& tensor) const;
  void fetch(const Rank& rank, const Tensor& tensor, void* host) const;
  void put(const Rank& rank, const Tensor& tensor, const void* host) const;
  void abort_all(const std::string& why);
  void fail(int rank, StepId step, const std::exception& error);
  StepId met_in(int rank, StepId step) const;
  void hear(int rank, Failure failure);
  std::optional<Failure> believed_locked() const;
  bool all_are_here() const { return here_.size() == followed_.size(); }
  void fail(Failure failure);
  [[noreturn]] void throw_failure_locked() const;
  void find_lost_locked(RunFailure& failure) const;
  std::vector<Whereabouts> whereabouts_locked(const std::vector<int>& ranks) const;
  std::optional<Failure> late_at_the_end_locked(double looked_seconds);
  void rewind_locked();
  bool idle_locked() const;
  size_t position_locked() const;

  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<RankTeam> lender_;  ///< null: all memory is this team's own
  std::vector<bool> behind_lane_;     ///< [step]: it waits until the rank's lane is empty
  std::unique_ptr<Feed> feed_;
  std::unique_ptr<Seats> seats_;
  std::vector<std::shared_ptr<StepObserver>> observers_;  ///< changed only while idle
  bool traced_ = true;                                    ///< changed only while idle

  mutable std::mutex mutex_;
  std::condition_variable wake_ranks_, wake_waiters_;
  /// [world rank]; null: it lives in another process, and this process does not command it.
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<Rank*> followed_;  ///< those that are not null
  std::vector<Rank*> here_;      ///< those of them that have a thread here
  std::unique_ptr<Elsewhere> elsewhere_;
  std::atomic<uint64_t> starts_ = 0;  ///< calls of start(); a watching thread needs no lock
  size_t target_ = 0;
  uint64_t pass_ = 0;        ///< raised when ranks must start over
  uint64_t weights_of_ = 0;  ///< raised when weights and optimizer state must be fed again
  PassInputs inputs_;
  const PassSource* next_ = nullptr;  ///< null: the caller of start() begins the next pass
  bool asking_next_ = false;          ///< a rank is inside `next_`
  std::exception_ptr next_failed_;    ///< what `next_` threw
  double pass_begin_seconds_ = 0;
  /// Memory or weights must be made first. That is no part of the pass: the pass begins when all ranks are
  /// fed.
  bool begins_when_fed_ = false;
  size_t fed_ = 0;        ///< ranks that wait for that moment
  bool halting_ = false;  ///< pause() was called: no rank is held any longer
  bool stopping_ = false;
  std::optional<Failure> failure_;
  /// If some ranks live in other processes: reports of ranks about others that they miss, not yet believed.
  std::vector<std::pair<int, Failure>> rumours_;
  double first_rumour_seconds_ = 0;
  size_t seen_progress_ = 0;    ///< steps begun and finished by all ranks, at the last look
  double stalled_seconds_ = 0;  ///< how long wait() has seen no progress since
};

/// The number of detached rank threads that have not ended. While there is one, a program must end without
/// destroying what the thread may still use (std::_Exit).
int abandoned_ranks();

}  // namespace shardlens
