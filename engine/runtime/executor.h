// Runs a Program on T ranks, or on D replicas of them: one thread a rank, each with its own device, arenas
// and place in two communicators, of its T neighbours and of its D copies (paper, Figure 8). The threads
// and their protocol are the RankTeam's; what is here is how the rest of the engine speaks to them.
#pragma once

#include <functional>
#include <memory>
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

class RankTeam;

/// The inputs of a pass, or nothing: there are no more.
using PassSource = std::function<std::optional<PassInputs>()>;

/// Whether this process has a window: then ranks that begin from now on compute at the lowest priority, so
/// that the picture never waits for them.
void set_beside_a_window(bool is);

class Executor {
 public:
  /// Starts the rank threads, which allocate and feed their memory and then stand before step 0. Feeding
  /// errors surface in wait().
  explicit Executor(std::shared_ptr<const Plan> plan);
  /// Runs another Program over the weights, keys and values in `lender`'s memory, which must hold them alike,
  /// stand idle while this one runs, and outlive it: a prompt and then token after token are two Programs
  /// over one model.
  Executor(std::shared_ptr<const Plan> plan, const Executor& lender);
  /// On `seats` of the caller's choice, such as those that another process's executor commands; `lender` may
  /// be null.
  Executor(std::shared_ptr<const Plan> plan, std::unique_ptr<Seats> seats, const Executor* lender);
  /// Gives up what runs and waits for the ranks' threads, but not for ever for one that hangs: see
  /// RankTeam::disband().
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Who sees tensors from the next start() on; call only while idle.
  void observe(std::vector<std::shared_ptr<StepObserver>> observers);
  /// Whether passes are traced from the next start() on, as they are if nobody says otherwise; untraced, a
  /// pass leaves no events in trace(). To measure what tracing costs. What fails on a device that works
  /// behind its calls is then known to the nearest few dozen steps only. Ranks of this process alone. Call
  /// only while idle.
  void set_traced(bool traced);

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
  /// Runs pass after pass to the end, each on what `next` returns, until it returns nothing: as next_pass(),
  /// start() and wait() in a loop would. Where all ranks are threads of this process, without work beside or
  /// behind them, `next` is called by the rank that ended a pass last, and nobody need be woken for the one
  /// that follows; it may read tensors and traces there. Throws as wait() does, and what `next` throws. Not
  /// to be paused. Call only while idle.
  void run_passes(const PassSource& next);
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
  size_t steps() const;
  CommunicatorInfo communicator() const;
  const Seats& seats() const;
  /// Rank `rank`'s finished steps of the present pass; any thread, also while it runs. Ranks of all replicas
  /// are numbered through.
  const RankTrace& trace(int rank) const;
  /// What the first `ranks` ranks have finished of it, [rank][step].
  std::vector<std::vector<StepEvent>> events(int ranks) const;
  /// Measured; call while idle.
  BytesByKind high_water_bytes(int rank) const;

 private:
  std::shared_ptr<RankTeam> team_;
};

}  // namespace shardlens
