// Ranks that take turns on the caller's thread: a step runs on every rank before the next step begins, and a
// collective is done when the last rank of its group has come to it (engine/comm/lockstep.h). Nothing runs
// but inside wait() and wait_for(). So a run is exactly repeatable, for debugging, and needs no threads at
// all.
//
// Every rank has a clock of its own. It goes on by what the rank's steps took, stands still at a collective
// until the last rank has come, and goes on by the delays that a run asks for, which nobody really waits for:
// the times that ranks with a core each would have had. An overlapped collective goes on a second clock, the
// lane's, and the steps that need it wait for that one. A rank that comes later than
// Settings::timeout_seconds by these clocks is lost, as among threads.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/runtime/team.h"

namespace shardlens {

class LockstepTeam final : public Team {
 public:
  LockstepTeam(std::shared_ptr<const Plan> plan, std::shared_ptr<Team> lender, std::unique_ptr<Seats> seats);
  void begin() override {}  ///< the first wait makes and feeds the memory
  void disband() override {}

  using Team::next_pass;
  void observe(std::vector<std::shared_ptr<StepObserver>> observers) override;
  void set_traced(bool traced) override { traced_ = traced; }
  void start(size_t target) override;
  /// The clocks of these ranks begin at 0, whenever a pass has begun elsewhere.
  void start(size_t target, double) override { start(target); }
  void rewind() override;
  void next_pass() override;
  void run_passes(const PassSource& next) override;
  void set_inputs(PassInputs inputs) override { inputs_ = std::move(inputs); }
  void read_tensor(int rank, TensorId tensor, void* host) const override;
  void write_tensor(int rank, TensorId tensor, const void* host) override;
  /// The step that some ranks have run, and others not yet, comes to its end first.
  void pause() override { target_ = done_ + (place_ > 0 ? 1 : 0); }
  void cancel(const std::string& why) override;
  /// Goes on until the target is reached or `seconds` have passed: at least one step on one rank, or what a
  /// rank's memory is fed with.
  bool wait_for(double seconds) override;
  size_t position() const override { return done_; }
  BytesByKind high_water_bytes(int rank) const override;

 private:
  /// Seconds since the pass began, on one rank.
  struct Clock {
    double steps = 0, lane = 0;
  };
  /// The step of the Program that comes next, on one rank.
  struct Turn {
    const Step* step = nullptr;
    StepEvent event;
    double worked_seconds = 0;
  };

  bool stands_still() const;
  void go_on();  ///< by the smallest piece: one rank's memory, inputs or step
  /// `work` of the rank at `place`. What it throws ends the run.
  void on_rank(size_t place, StepId step, const std::function<void()>& work);
  void begin_step();
  void end_step();
  void come_to(Turn& turn, size_t place);
  void lose_late_ranks(const std::vector<Turn>& turns);
  void take_turn(Turn& turn, size_t place);
  void meet(std::vector<Turn>& turns);
  void throw_cancelled();
  [[noreturn]] void fail(int rank, StepId step, const std::exception& error);

  std::vector<Clock> clocks_;  ///< [world rank]
  std::vector<Turn> turns_;    ///< [world rank], of the step under way
  size_t place_ = 0;           ///< the rank that takes its turn next; 0: the step has not begun
  size_t ready_ = 0;           ///< ranks that have their memory
  size_t fed_ = 0;             ///< ranks that have the present pass's inputs
  size_t target_ = 0;
  std::atomic<size_t> done_ = 0;
  std::exception_ptr failure_;
  std::mutex mutex_;  ///< cancel() comes from any thread
  std::atomic<bool> is_cancelled_ = false;
  std::string cancelled_;
};

}  // namespace shardlens
