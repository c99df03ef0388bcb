// The studio's worker for comparisons: one thread that plans and measures alternatives to the present run
// (other splits, other degrees, a tournament of all splits). It takes ComparisonCommands from a queue and
// publishes ComparisonSnapshots. It never waits for the caller and the caller never waits for it.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "engine/cost/tournament.h"
#include "engine/runtime/measure/split_trials.h"
#include "engine/runtime/measure/sweep.h"

namespace shardlens {

/// What a tournament ranks.
struct TournamentWish {
  Settings settings;        ///< the model, its batch and the hardware; T, D and split do not matter
  int ranks = 1;            ///< T x D
  int64_t limit_bytes = 0;  ///< for each rank; 0: memory_of_a_rank()
  size_t listed = 20;
  bool operator==(const TournamentWish&) const = default;
};

struct HeldTournament {
  TournamentWish wish;
  std::string refused;  ///< why there is none
  Tournament tournament;
  std::string predicted_on;
  double seconds = 0;      ///< how long it took, measured
  bool has_times = false;  ///< the hardware states its speed, so the order has a meaning
  bool can_run = false;    ///< this machine can, as calibrated in this dtype
  size_t megatron = 0;     ///< position of the fastest entrant of that name; entrants.size(): none
  std::vector<TimeComparison>
      runs;  ///< of the first entrants listed, as far as they are done: the fastest round
  std::vector<std::vector<double>> round_seconds;  ///< [run]: a step in each round, in their order
};

struct ComparisonSnapshot {
  uint64_t version = 0;
  std::shared_ptr<const SplitTrials> trials;  ///< null until asked for; the same holds for the next two
  std::shared_ptr<const Sweep> sweep;
  std::shared_ptr<const HeldTournament> tournament;
  bool busy = false;       ///< something is planned or measured
  bool measuring = false;  ///< ranks compute for a measurement
  std::string activity;    ///< "measuring T = 4"; empty at rest
  std::string message;     ///< why a measurement ended early; empty after the next one begins
};

/// How often each of several splits is measured, in turn with the others.
inline constexpr int kSplitRounds = 5;

namespace comparison_command {
struct PlanSplits {
  Settings settings;
  std::vector<Split> splits;
  bool operator==(const PlanSplits&) const = default;
};                    ///< plans and prices; measurements of other splits are forgotten
struct RunSplits {};  ///< measures the splits that were planned, in kSplitRounds rounds
struct SweepDegrees {
  Settings settings;
  std::vector<int> degrees;
};
struct HoldTournament {
  TournamentWish wish;
};
struct RunTop {
  size_t count = 5;
};               ///< measures the first entrants listed, in kSplitRounds rounds
struct Stop {};  ///< gives up the present measurement; results that are there stay
}  // namespace comparison_command

using ComparisonCommand = std::variant<comparison_command::PlanSplits, comparison_command::RunSplits,
                                       comparison_command::SweepDegrees, comparison_command::HoldTournament,
                                       comparison_command::RunTop, comparison_command::Stop>;

/// True if ranks compute for the command.
bool measures(const ComparisonCommand& command);

class Comparison {
 public:
  Comparison();
  ~Comparison();  ///< gives up the present measurement and joins
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;

  void send(ComparisonCommand command);                        ///< returns at once; any thread
  std::shared_ptr<const ComparisonSnapshot> snapshot() const;  ///< the newest; never null; any thread
  /// Blocks until nothing is queued or measured, or until `timeout_seconds` have passed; for tests and for
  /// pictures without a window. Returns the newest snapshot in both cases.
  std::shared_ptr<const ComparisonSnapshot> wait_until_idle(double timeout_seconds) const;

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace shardlens
