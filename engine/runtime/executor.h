// Runs a Program on T ranks, or on D replicas of them: one thread a rank, each with its own device, arenas
// and place in two communicators, of its T neighbours and of its D copies (paper, Figure 8).
//
// Protocol. All ranks run the same steps in the same order. A shared target says how many steps may run; a
// rank claims a step under the lock, runs it without, and publishes its event without. Raising the target
// lets ranks go on; pausing lowers it to the furthest step any rank has claimed, so that all stop at one
// boundary and no collective is left half met. Going back is going again from the start: the run is
// deterministic, so the bits are the same; weights that an optimizer has moved are fed anew. Where
// steps run beside the others (gradients summed over the replicas, parts of a product over the ranks) a rank
// has a lane beside its thread for them; a step that touches what such a step sums waits for the lane, and so
// does a rank before it stands still. Where a device works behind its calls, a rank asks ahead of it; its
// steps count as done, and their events are published, once their marks have been looked up. A rank that is
// to be late (Plan::holds) stands still before its step's begin, out of the lock, until its time is over or
// the run is paused or given up. The first failure is kept with its rank and step, the communicator is
// aborted so that nobody waits for the rank that failed, and wait() throws it. Ranks that live in other
// processes (world.h) have no thread here: they are told what the ranks here are told, and report when they
// stand still.
//
// A rank that is lost. Whoever waits for it in a collective says so when Settings::timeout_seconds have
// passed (engine/comm/comm.h), and whoever calls wait() when the others have finished and it has not: that is
// a failure like any other, of the rank that did not come. A paused run has no rank in a collective, so no
// clock runs.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/comm/comm.h"
#include "engine/config/error.h"
#include "engine/record/trace.h"
#include "engine/runtime/batch.h"
#include "engine/runtime/observer.h"
#include "engine/runtime/run_failure.h"
#include "engine/runtime/snapshot.h"
#include "engine/runtime/world.h"

namespace shardlens {

/// What shares the machine with the ranks: beside a window they compute at the lowest priority, so that the
/// picture never waits for them.
enum class Beside { Nothing, AWindow };

class Executor {
 public:
  /// Starts the rank threads, which allocate and feed their memory and then stand before step 0. Feeding
  /// errors surface in wait().
  explicit Executor(std::shared_ptr<const Plan> plan, Beside beside = Beside::Nothing);
  /// Runs another Program over the weights, keys and values in `lender`'s memory, which must hold them alike,
  /// stand idle while this one runs, and outlive it: a prompt and then token after token are two Programs
  /// over one model.
  Executor(std::shared_ptr<const Plan> plan, const Executor& lender);
  /// On `seats` of the caller's choice, such as those that another process's executor commands; `lender` may
  /// be null.
  Executor(std::shared_ptr<const Plan> plan, std::unique_ptr<Seats> seats, const Executor* lender);
  ~Executor();  ///< cancels and joins
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Who sees tensors from the next start() on; call only while idle.
  void observe(std::vector<std::shared_ptr<StepObserver>> observers);

  /// Lets all ranks run until `target` steps are done; going back (target < position()) starts over from step
  /// 0. Returns at once. Call only while idle.
  void start(size_t target);
  /// The same for a pass that began elsewhere, at `begin_seconds` of this process's clock.
  void start(size_t target, double begin_seconds);
  /// Forgets the position: the next start() runs from step 0, with the weights and the optimizer's state of
  /// the beginning.
  void rewind();
  /// The next start() runs from step 0 on `inputs`, with weights and optimizer state as the last pass left
  /// them. A whole model whose inputs were never given runs on seeded_batch(). Call only while idle.
  void next_pass(PassInputs inputs);
  void next_pass();  ///< on the inputs it has
  /// What the next pass (or the present one) is fed with, from its first step on. Call only while idle.
  void set_inputs(PassInputs inputs);

  /// Copies rank `rank`'s slice of a tensor out of its memory, or into it; ranks of all replicas are numbered
  /// through, replica by replica. Call only while idle.
  void read_tensor(int rank, TensorId tensor, void* host) const;
  void write_tensor(int rank, TensorId tensor, const void* host);
  /// All ranks stop at the next common step boundary; where some live in other processes they go to the
  /// target instead.
  void pause();
  /// Gives the run up from any thread; the executor is spent and wait() throws a Cancelled Error.
  void cancel(const std::string& why);

  /// Blocks until all ranks stand still. Throws the first failure, naming rank and step: a RunFailed, unless
  /// it was cancelled. A rank that did not come in Settings::timeout_seconds is one.
  void wait();
  /// The same with a limit; false when ranks still run after `seconds`.
  bool wait_for(double seconds);

  size_t position() const;  ///< steps all ranks have finished
  size_t steps() const { return plan_->program.steps.size(); }
  CommunicatorInfo communicator() const;
  const Seats& seats() const { return *seats_; }
  /// Rank `rank`'s finished steps of the present pass; any thread, also while it runs. Ranks of all replicas
  /// are numbered through.
  const RankTrace& trace(int rank) const;
  /// What the first `ranks` ranks have finished of it, [rank][step].
  std::vector<std::vector<StepEvent>> events(int ranks) const;
  /// Measured; call while idle.
  BytesByKind high_water_bytes(int rank) const;

 private:
  struct Failure {
    ErrorKind kind = ErrorKind::Run;
    std::string message;
    std::optional<RunFailure> what;  ///< null: it is not known
  };

  Executor(std::shared_ptr<const Plan> plan, Beside beside, const Executor* lender,
           std::unique_ptr<Seats> seats);

  struct Rank;       ///< one rank's thread, device, arenas, track and place in the protocol
  struct Elsewhere;  ///< hears of the ranks that live in other processes

  void rank_main(Rank& rank);
  void come_to_rest(Rank& rank);
  void prepare(Rank& rank);
  void run_step(Rank& rank, StepId id, double begin_of_pass, double held_seconds);
  void ask_for_step(Rank& rank, const Step& step, struct RankContext& context, StepEvent event);
  void look_up(Rank& rank, size_t left, double begin_of_pass, StepId& at);
  void begin_step(Rank& rank, StepId id, double begin_of_pass);
  double stand_still(double seconds);
  void feed_pass(Rank& rank, uint64_t pass, uint64_t weights_of);
  void show(int replica, int rank, StepId step, const Tensor& tensor, const void* data) const;
  void start_at(size_t target, std::optional<double> begin_seconds);
  void show(Rank& rank, StepId step, const Tensor& tensor) const;
  const void* host_copy(Rank& rank, const Tensor& tensor) const;
  template <typename Fill>
  void fill_tensor(Rank& rank, const Tensor& tensor, const Fill& fill) const;
  size_t slice_bytes(const Rank& rank, const Tensor& tensor) const;
  void abort_all(const std::string& why);
  void fail(int rank, StepId step, const std::exception& error);
  void fail(Failure failure);
  [[noreturn]] void throw_failure_locked() const;
  void find_lost_locked(RunFailure& failure) const;
  std::vector<Whereabouts> whereabouts_locked(const std::vector<int>& ranks) const;
  std::optional<Failure> late_at_the_end_locked(double looked_seconds);
  void rewind_locked();
  bool idle_locked() const;
  size_t position_locked() const;

  std::shared_ptr<const Plan> plan_;
  Beside beside_;
  const Executor* lender_;         ///< null: all memory is this one's own
  std::vector<bool> behind_lane_;  ///< [step]: it waits until the rank's lane is empty
  std::unique_ptr<class Feed> feed_;
  std::unique_ptr<Seats> seats_;
  std::vector<std::shared_ptr<StepObserver>> observers_;  ///< changed only while idle

  mutable std::mutex mutex_;
  std::condition_variable wake_ranks_, wake_waiters_;
  /// [rank of all]; null: it lives in another process, and is commanded from another one than this.
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<Rank*> followed_;  ///< those that are not null
  std::vector<Rank*> here_;      ///< those of them that have a thread here
  std::unique_ptr<Elsewhere> elsewhere_;
  uint64_t starts_ = 0;  ///< calls of start()
  size_t target_ = 0;
  uint64_t pass_ = 0;        ///< raised when ranks must start over
  uint64_t weights_of_ = 0;  ///< raised when weights and optimizer state must be fed anew
  PassInputs inputs_;
  double pass_begin_seconds_ = 0;
  bool halting_ = false;  ///< pause() was called: nobody is late any longer
  bool stopping_ = false;
  std::optional<Failure> failure_;
  size_t seen_progress_ = 0;    ///< steps begun and finished by all ranks, at the last look
  double stalled_seconds_ = 0;  ///< that wait() has seen no more of them since
};

}  // namespace shardlens
