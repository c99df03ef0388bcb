// Runs a Program on T ranks, or on D replicas of T ranks: one thread for each rank, each with its own device
// and arenas. A rank has a place in the communicator of its T neighbours and in that of its D copies (paper,
// Figure 8). RankTeam holds the threads and their protocol; this file is the interface for the rest of the
// engine.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/base/error.h"
#include "engine/comm/comm.h"
#include "engine/record/trace.h"
#include "engine/runtime/batch.h"
#include "engine/runtime/observer.h"
#include "engine/runtime/run_failure.h"
#include "engine/runtime/snapshot.h"
#include "engine/runtime/world.h"

namespace shardlens {

class Team;

/// Returns the inputs of the next pass, or nothing if there are no more passes.
using PassSource = std::function<std::optional<PassInputs>()>;

class Executor {
 public:
  /// Starts the rank threads. They allocate and feed their memory and then wait before step 0. wait() throws
  /// the errors of feeding.
  explicit Executor(std::shared_ptr<const Plan> plan);
  /// Runs another Program over the weights, keys and values in `lender`'s memory. `lender` must lay them out
  /// in the same way, stay idle while this one runs, and outlive it. Use: a prompt and then token after token
  /// are two Programs over one model.
  Executor(std::shared_ptr<const Plan> plan, const Executor& lender);
  /// Runs on the given `seats`, such as those that the executor of another process commands; `lender` may be
  /// null.
  Executor(std::shared_ptr<const Plan> plan, std::unique_ptr<Seats> seats, const Executor* lender);
  /// Gives up what runs and waits for the ranks' threads, but does not wait for ever for a thread that hangs:
  /// see RankTeam::disband().
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Sets the observers that see tensors from the next start() on; call only while idle.
  void observe(std::vector<std::shared_ptr<StepObserver>> observers);
  /// Turns tracing on or off from the next start() on; it is on at the beginning. An untraced pass leaves no
  /// events in trace(): this measures what tracing costs. If an untraced pass fails on a device that works
  /// behind its calls, the step of the failure is known only to within a few dozen steps. If some ranks
  /// live in other processes, all passes are traced. Call only while idle.
  void set_traced(bool traced);
  bool is_traced() const;  ///< call only while idle

  /// Runs all ranks until `target` steps are done. Going back (target < position()) starts over from step 0.
  /// Returns at once. Call only while idle.
  void start(size_t target);
  /// The same for a pass that began in another process, at `begin_seconds` on this process's clock.
  void start(size_t target, double begin_seconds);
  /// Forgets the position: the next start() runs from step 0, with the initial weights and optimizer state.
  void rewind();
  /// The next start() runs from step 0 on `inputs`, with weights and optimizer state as the last pass left
  /// them. A whole model whose inputs were never given runs on seeded_batch(). Call only while idle.
  void next_pass(PassInputs inputs);
  void next_pass();  ///< on the inputs it has
  /// Runs pass after pass to the end, each on the inputs that `next` returns, until it returns nothing. The
  /// effect is that of a loop over next_pass(), start() and wait(). If all ranks are threads of this process,
  /// without overlapped work and without devices that work behind their calls, the rank that ends a pass last
  /// calls `next`, and no thread need be woken for the pass that follows; `next` may then read tensors and
  /// traces. Throws what wait() throws and what `next` throws. pause() must not be called. Call only while
  /// idle.
  void run_passes(const PassSource& next);
  /// Sets the inputs of the next pass, or of the present one, from its first step on. Call only while idle.
  void set_inputs(PassInputs inputs);

  /// Copies rank `rank`'s slice of a tensor out of its memory, or into it. `rank` is the world rank: ranks
  /// are numbered replica by replica. Call only while idle.
  void read_tensor(int rank, TensorId tensor, void* host) const;
  void write_tensor(int rank, TensorId tensor, const void* host);
  /// All ranks stop at the next common step boundary. If some ranks live in other processes, all go on to the
  /// target instead.
  void pause();
  /// Gives the run up; any thread. Afterwards the executor cannot be used, and wait() throws a Cancelled
  /// Error.
  void cancel(const std::string& why);

  /// Blocks until all ranks stand still. Throws the first failure, which names rank and step: a RunFailed, or
  /// a Cancelled Error after cancel(). A rank that does not come within Settings::timeout_seconds is a
  /// failure too.
  void wait();
  /// The same with a limit; returns false if ranks still run after `seconds`.
  bool wait_for(double seconds);

  size_t position() const;  ///< steps all ranks have finished
  size_t steps() const;
  CommunicatorInfo communicator() const;
  const Seats& seats() const;
  /// The steps that rank `rank` has finished in the present pass; any thread, also while it runs. `rank` is
  /// the world rank: ranks are numbered replica by replica.
  const RankTrace& trace(int rank) const;
  /// The events of the first `ranks` ranks in the present pass, [rank][step].
  std::vector<std::vector<StepEvent>> events(int ranks) const;
  /// Measured; call while idle.
  BytesByKind high_water_bytes(int rank) const;

 private:
  std::shared_ptr<Team> team_;
};

}  // namespace shardlens
