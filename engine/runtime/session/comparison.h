// The studio's third engine room: one thread that plans and measures what stands beside what runs (other
// splits, other degrees, a tournament of all splits), takes ComparisonCommands from one queue and publishes
// ComparisonSnapshots. Nothing here waits for the caller and the caller never waits for it.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "engine/cost/tournament.h"
#include "engine/runtime/measure/split_trials.h"
#include "engine/runtime/measure/sweep.h"

namespace shardlens {

/// What a tournament is held for.
struct TournamentWish {
  Settings settings;        ///< the model, its batch and the hardware; T, D and split do not matter
  int ranks = 1;            ///< T x D
  int64_t limit_bytes = 0;  ///< a rank; 0: memory_of_a_rank()
  size_t listed = 20;
  bool operator==(const TournamentWish&) const = default;
};

struct HeldTournament {
  TournamentWish wish;
  std::string refused;  ///< why there is none
  Tournament tournament;
  std::string predicted_on;
  double seconds = 0;                ///< how long it took, measured
  bool has_times = false;            ///< the hardware states its speed: the order means something
  bool can_run = false;              ///< this machine, as calibrated in this dtype
  size_t megatron = 0;               ///< place of the fastest entrant of that name; entrants.size(): none
  std::vector<TimeComparison> runs;  ///< of the first ones listed, as far as they are done
};

struct ComparisonSnapshot {
  uint64_t version = 0;
  std::shared_ptr<const SplitTrials> trials;  ///< null until asked for, as the others
  std::shared_ptr<const Sweep> sweep;
  std::shared_ptr<const HeldTournament> tournament;
  bool busy = false;       ///< something is planned or measured
  bool measuring = false;  ///< ranks compute for it
  std::string activity;    ///< "measuring T = 4"; empty at rest
  std::string message;     ///< why a measurement ended early; empty after the next one begins
};

namespace comparison_command {
struct PlanSplits {
  Settings settings;
  std::vector<Split> splits;
  bool operator==(const PlanSplits&) const = default;
};                    ///< plans and prices; what was measured of others is forgotten
struct RunSplits {};  ///< measures those that were planned
struct SweepDegrees {
  Settings settings;
  std::vector<int> degrees;
};
struct HoldTournament {
  TournamentWish wish;
};
struct RunTop {
  size_t count = 5;
};               ///< measures the first ones listed
struct Stop {};  ///< gives up what is measured; what is done of it stays
}  // namespace comparison_command

using ComparisonCommand = std::variant<comparison_command::PlanSplits, comparison_command::RunSplits,
                                       comparison_command::SweepDegrees, comparison_command::HoldTournament,
                                       comparison_command::RunTop, comparison_command::Stop>;

/// Ranks compute for it.
bool measures(const ComparisonCommand& command);

class Comparison {
 public:
  Comparison();
  ~Comparison();  ///< gives up what is measured and joins
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;

  void send(ComparisonCommand command);                        ///< returns at once; any thread
  std::shared_ptr<const ComparisonSnapshot> snapshot() const;  ///< the newest; never null; any thread
  /// Blocks until nothing is queued or measured; for tests and pictures without a window. Returns the newest
  /// snapshot also when `timeout_seconds` have passed.
  std::shared_ptr<const ComparisonSnapshot> wait_until_idle(double timeout_seconds) const;

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace shardlens
