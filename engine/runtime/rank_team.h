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
//   their events are published, after the rank has looked up their marks. It claims steps that may run
//   together at once and asks for them with one call. In a pass that is not traced, the rank marks one call
//   in many and the end of the pass.
// - Pass after pass (run_passes()): the rank that ends a pass last begins the next one. The other ranks spin
//   for a moment before they sleep.
// - A rank that is delayed on purpose (Plan::delays) stands still before its step begins, without the lock,
//   until its time is over or the run is paused or given up.
// - Failures. The first failure is kept with its rank and step. The communicators are aborted, so no rank
//   waits for the one that failed, and wait() throws the failure.
// - Ranks that live in other processes (world.h) have no thread here. They are told what the ranks here are
//   told, and report when they stand still.
//
// A lost rank. A rank that waits for it in a collective reports it after Settings::timeout_seconds
// (engine/comm/comm.h). If all other ranks have finished, the caller of wait() reports it. This is a failure
// of the rank that did not come, like any other failure. While a run is paused no rank is in a collective, so
// no time counts. A thread that hangs cannot be ended from outside; disband() detaches it. LostRankFinder
// finds the rank.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "engine/runtime/lost_rank_finder.h"
#include "engine/runtime/team.h"

namespace shardlens {

class RankTeam final : public Team, public std::enable_shared_from_this<RankTeam> {
 public:
  /// The ranks of `seats`, without threads yet; `lender` may be null.
  RankTeam(std::shared_ptr<const Plan> plan, std::shared_ptr<Team> lender, std::unique_ptr<Seats> seats);
  ~RankTeam() override;
  void begin() override;  ///< starts the threads
  /// Gives up what runs and waits until the threads have ended: a moment if the run lost a rank, else as long
  /// as ranks wait for one another. Threads that have not ended are detached; they share the ownership of all
  /// that they use. abandoned_threads() counts them until they end.
  void disband() override;

  using Team::next_pass;
  void observe(std::vector<std::shared_ptr<StepObserver>> observers) override;
  void set_traced(bool traced) override;
  void start(size_t target) override;
  void start(size_t target, double begin_seconds) override;
  void rewind() override;
  void next_pass() override;
  void run_passes(const PassSource& next) override;
  void set_inputs(PassInputs inputs) override;
  void read_tensor(int rank, TensorId tensor, void* host) const override;
  void write_tensor(int rank, TensorId tensor, const void* host) override;
  void pause() override;
  void cancel(const std::string& why) override;
  bool wait_for(double seconds) override;
  size_t position() const override;
  BytesByKind high_water_bytes(int rank) const override;

 private:
  struct Elsewhere;  ///< hears of the ranks that live in other processes

  // In a rank's own thread.
  void rank_main(Rank& rank);
  void come_to_rest(Rank& rank);
  void come_to_target(std::unique_lock<std::mutex>& lock);
  void watch_for_next_pass(std::unique_lock<std::mutex>& lock) const;
  size_t end_of_call_locked(const Rank& rank) const;
  void begin_steps(Rank& rank, std::span<const Step> steps, double begin_of_pass);
  void run_steps(Rank& rank, std::span<const Step> steps, double begin_of_pass, double held_seconds);
  void look_up(Rank& rank, size_t left, double begin_of_pass, StepId& at);
  double last_arrival(const Rank& rank, StepId id) const;
  double stand_still(double seconds);
  void take_core_locked(Rank& rank);
  double begin_fed_pass();

  void start_at(size_t target, std::optional<double> begin_seconds);
  void abort_all(const std::string& why);
  bool end_idle();
  void fail(int rank, StepId step, const std::exception& error);
  void hear(int rank, TeamFailure failure);
  void fail(TeamFailure failure);
  [[noreturn]] void throw_failure_locked() const;
  bool all_are_here() const { return here_.size() == followed_.size(); }
  void rewind_locked();
  bool idle_locked() const;
  size_t position_locked() const;

  mutable std::mutex mutex_;
  std::condition_variable wake_ranks_, wake_waiters_;
  std::vector<Rank*> followed_;  ///< those that this process commands
  std::vector<Rank*> here_;      ///< those of them that have a thread here
  std::unique_ptr<Elsewhere> elsewhere_;
  std::atomic<uint64_t> starts_ = 0;  ///< calls of start(); a watching thread needs no lock
  size_t target_ = 0;
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
  std::optional<TeamFailure> failure_;
  LostRankFinder finder_;
};

/// The number of threads that hang and that nobody waits for any more: ranks that never ended, and calls of
/// GPU libraries that did not return. While there is one, a program must end without destroying what the
/// thread may still use (std::_Exit).
int abandoned_threads();

}  // namespace shardlens
