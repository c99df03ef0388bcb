// The rank threads behind an Executor, and what they share. A rank's thread owns its team together with the
// Executor: one that never comes back keeps its memory, its program and its communicators alive, and nobody
// else has to wait for it.
//
// Protocol. All ranks run the same steps in the same order. A shared target says how many steps may run; a
// rank claims a step under the lock, runs it without, and publishes its event without. Raising the target
// lets ranks go on; pausing lowers it to the furthest step any rank has claimed, so that all stop at one
// boundary and no collective is left half met. Going back is going again from the start: the run is
// deterministic, so the bits are the same; weights that an optimizer has moved are fed anew. Where steps run
// beside the others (input gradients and parts of a product summed over the ranks, gradients over the
// replicas) a rank has a lane beside its thread for them; a step that touches what such a step sums, or meets
// the same ranks, waits for the lane, and so does a rank before it stands still. Where a device works behind
// its calls, a rank asks ahead of it; its steps count as done, and their events are published, once their
// marks have been looked up; of a pass that is not traced it marks one step in many, and then that it has
// come to the end, and it claims steps that may run together at once and asks for them by one call. Where
// passes follow one another (run_passes()), the rank that ends one last begins the next, and the others watch
// for it before they sleep. A rank that is to be late (Plan::holds) stands still before its step's begin, out
// of the lock, until its time is over or the run is paused or given up. The first failure is kept with its
// rank and step, the communicator is aborted so that nobody waits for the rank that failed, and wait() throws
// it. Ranks that live in other processes (world.h) have no thread here: they are told what the ranks here are
// told, and report when they stand still.
//
// A rank that is lost. Whoever waits for it in a collective says so when Settings::timeout_seconds have
// passed (engine/comm/comm.h), and whoever calls wait() when the others have finished and it has not: that is
// a failure like any other, of the rank that did not come. A paused run has no rank in a collective, so no
// clock runs. A thread that hangs cannot be ended from outside; disband() lets it go. Where every process
// knows its own rank alone, one that waits for another in vain does not know whether that one is lost or
// waits too; so the first process listens for a moment to what the others say before it believes one.
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
  /// The ranks of `seats`, without threads; `lender` may be null.
  RankTeam(std::shared_ptr<const Plan> plan, std::shared_ptr<RankTeam> lender, std::unique_ptr<Seats> seats);
  ~RankTeam();
  void begin();  ///< starts the threads; before anything else
  /// Gives up what runs, and waits until the threads have ended: of a run that lost a rank for a moment, else
  /// as long as ranks wait for one another. Those that have not are let go, with a share in all they use;
  /// abandoned_ranks() counts them until they end after all.
  void disband();

  // As the Executor's, which passes its calls on.
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

  /// The collective that was begun last, and whether it goes on.
  struct Meeting {
    std::atomic<StepId> step = -1;
    std::atomic<bool> inside = false;
  };

  // Memory outlives the threads: a rank that failed may not free what another is still reading in a
  // collective.
  struct Rank {
    int index = 0;     ///< among the T of its replica
    int replica = 0;   ///< among the D
    bool here = true;  ///< else it lives in another process, and what follows is what is known of it
    int threads = 1;   ///< that it may compute with
    std::unique_ptr<Device> device;  ///< outlives what follows, which is attached to it or in its memory
    RankGroups groups;
    std::unique_ptr<Arenas> arenas;
    std::vector<std::byte> staging;  ///< room for any of its tensors that the host cannot use in place
    std::unique_ptr<RankTrace> trace;
    std::unique_ptr<SideLane> lane;     ///< null where no step runs beside the others on a thread
    std::unique_ptr<AskedSteps> asked;  ///< null where its device does not work behind its calls
    std::map<StepId, double> holds;     ///< seconds it stands still before these steps
    uint64_t weights_of = 0;            ///< which feeding its weights come from
    bool written = false;               ///< from outside, since the last pass
    bool ready = false;                 ///< memory fed
    size_t claimed = 0;                 ///< steps begun in this pass
    size_t done = 0;                    ///< steps finished in this pass
    double claimed_seconds = 0;         ///< when it began the step it is in
    int core = -1;                      ///< it began this pass on, where that is known
    std::array<Meeting, 2> meetings;    ///< its thread's, and its lane's
    uint64_t reported = 0;              ///< elsewhere: the start() it last stood still after
    BytesByKind high_water_bytes{};
    bool is_meeting() const { return meetings[0].inside || meetings[1].inside; }
    bool running = false;    ///< its thread has not ended
    bool abandoned = false;  ///< and nobody waits for its end any more
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
  std::shared_ptr<RankTeam> lender_;  ///< null: all memory is this one's own
  std::vector<bool> behind_lane_;     ///< [step]: it waits until the rank's lane is empty
  std::unique_ptr<Feed> feed_;
  std::unique_ptr<Seats> seats_;
  std::vector<std::shared_ptr<StepObserver>> observers_;  ///< changed only while idle
  bool traced_ = true;                                    ///< changed only while idle

  mutable std::mutex mutex_;
  std::condition_variable wake_ranks_, wake_waiters_;
  /// [rank of all]; null: it lives in another process, and is commanded from another one than this.
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<Rank*> followed_;  ///< those that are not null
  std::vector<Rank*> here_;      ///< those of them that have a thread here
  std::unique_ptr<Elsewhere> elsewhere_;
  std::atomic<uint64_t> starts_ = 0;  ///< calls of start(); who watches for the next one needs no lock
  size_t target_ = 0;
  uint64_t pass_ = 0;        ///< raised when ranks must start over
  uint64_t weights_of_ = 0;  ///< raised when weights and optimizer state must be fed anew
  PassInputs inputs_;
  const PassSource* next_ = nullptr;  ///< null: whoever calls start() begins the next pass
  bool asking_next_ = false;          ///< a rank is in it
  std::exception_ptr next_failed_;    ///< what it threw
  double pass_begin_seconds_ = 0;
  /// Memory or weights must be made first, which is no part of the pass: it begins when all ranks are fed.
  bool begins_when_fed_ = false;
  size_t fed_ = 0;        ///< ranks that wait for it
  bool halting_ = false;  ///< pause() was called: nobody is late any longer
  bool stopping_ = false;
  std::optional<Failure> failure_;
  /// What ranks say of others that they miss, where some live elsewhere: not yet believed.
  std::vector<std::pair<int, Failure>> rumours_;
  double first_rumour_seconds_ = 0;
  size_t seen_progress_ = 0;    ///< steps begun and finished by all ranks, at the last look
  double stalled_seconds_ = 0;  ///< that wait() has seen no more of them since
};

/// Threads of ranks that were let go and have not ended. While there is one, a program must end without
/// tearing down what it may still use (std::_Exit).
int abandoned_ranks();

}  // namespace shardlens
