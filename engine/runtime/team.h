// The ranks behind an Executor: what every kind of team has, and the calls that the Executor passes on. How
// the ranks of a Program come forward is the kind's matter: RankTeam gives each a thread, LockstepTeam lets
// them take turns on the caller's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/runtime/executor.h"
#include "engine/runtime/feed.h"
#include "engine/runtime/rank.h"

namespace shardlens {

/// A wait without an end: as long as a clock can hold.
inline constexpr double kForeverSeconds = 1e9;

class Team {
 public:
  virtual ~Team();

  virtual void begin() = 0;  ///< call it before anything else
  /// Gives up what runs. Afterwards the team can be destroyed, or what a thread that hangs still uses lives
  /// on.
  virtual void disband() = 0;

  // The methods of Executor, which passes its calls on.
  virtual void observe(std::vector<std::shared_ptr<StepObserver>> observers) = 0;
  virtual void set_traced(bool traced) = 0;
  virtual void start(size_t target) = 0;
  virtual void start(size_t target, double begin_seconds) = 0;
  virtual void rewind() = 0;
  virtual void next_pass() = 0;
  virtual void run_passes(const PassSource& next) = 0;
  virtual void set_inputs(PassInputs inputs) = 0;
  virtual void read_tensor(int rank, TensorId tensor, void* host) const = 0;
  virtual void write_tensor(int rank, TensorId tensor, const void* host) = 0;
  virtual void pause() = 0;
  virtual void cancel(const std::string& why) = 0;
  virtual bool wait_for(double seconds) = 0;
  virtual size_t position() const = 0;
  virtual BytesByKind high_water_bytes(int rank) const = 0;

  void next_pass(PassInputs inputs);
  void wait();
  bool is_traced() const { return traced_; }
  size_t steps() const { return plan_->program.steps.size(); }
  CommunicatorInfo communicator() const;
  const Seats& seats() const { return *seats_; }
  const RankTrace& trace(int rank) const { return *ranks_[static_cast<size_t>(rank)]->trace; }
  std::vector<std::vector<StepEvent>> events(int ranks) const;

 protected:
  /// The ranks of `seats`, without memory yet; `lender` may be null, and is of the same kind.
  Team(std::shared_ptr<const Plan> plan, std::shared_ptr<Team> lender, std::unique_ptr<Seats> seats);

  /// Makes the memory of a rank that lives here and feeds what lasts. `overlaps`: it may have a lane.
  void make_memory(Rank& rank, bool overlaps);
  /// Runs before the first step of a pass: feeds its inputs, and the weights if an earlier pass changed them.
  void feed_pass(Rank& rank, uint64_t pass, uint64_t weights_of);
  /// Shows a tensor of a rank in this process to the observers that want it; fetches it first if needed.
  void show(Rank& rank, StepId step, const Tensor& tensor) const;
  void show(int replica, int rank, StepId step, const Tensor& tensor, const void* data) const;

  const std::shared_ptr<const Plan> plan_;
  const std::shared_ptr<Team> lender_;  ///< null: all memory is this team's own
  std::vector<bool> behind_lane_;       ///< [step]: it waits until the rank's lane is empty
  std::unique_ptr<Feed> feed_;
  std::unique_ptr<Seats> seats_;
  std::vector<std::shared_ptr<StepObserver>> observers_;  ///< changed only while idle
  bool traced_ = true;                                    ///< changed only while idle
  /// [world rank]; null: it lives in another process, and this process does not command it.
  std::vector<std::unique_ptr<Rank>> ranks_;
  PassInputs inputs_;
  uint64_t pass_ = 0;        ///< raised when ranks must start over
  uint64_t weights_of_ = 0;  ///< raised when weights and optimizer state must be fed again
};

/// The team for a plan's ranks in `seats`.
std::shared_ptr<Team> make_team(std::shared_ptr<const Plan> plan, std::shared_ptr<Team> lender,
                                std::unique_ptr<Seats> seats);

}  // namespace shardlens
