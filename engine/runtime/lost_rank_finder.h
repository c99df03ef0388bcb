// Finds the ranks that a run has lost: from what the other ranks report, and from the progress of all ranks.
//
// If every process has one rank only, a rank that waits in vain does not know if the other rank is lost or
// waits too. So the first process collects what all ranks report for a moment before it believes one report.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/runtime/rank.h"
#include "engine/runtime/run_failure.h"

namespace shardlens {

/// Why a team's run ended.
struct TeamFailure {
  ErrorKind kind = ErrorKind::Run;
  std::string message;
  std::optional<RunFailure> what;  ///< null: it is not known
};

/// Every call is made under the team's lock.
class LostRankFinder {
 public:
  /// `ranks`: the team's, [world rank]; null: not followed by this process. The references must outlive this.
  LostRankFinder(const Program& program, const Seats& seats, const std::vector<std::unique_ptr<Rank>>& ranks)
      : program_(program), seats_(seats), ranks_(ranks) {}

  /// Returns the failure if `rank` waited in vain in the collective `met`.
  TeamFailure missed_in(StepId met, int rank, const LostRanks& error) const;

  /// Adds what rank `rank` reports of others that it misses. Call it if some ranks live in other processes.
  void add_report(int rank, TeamFailure failure);
  bool has_reports() const { return !reports_.empty(); }
  /// Returns the report that can be believed by now; none if there is none. A rank is lost if its process has
  /// ended or is silent; a rank that reports is not lost.
  std::optional<TeamFailure> believed() const;

  /// Returns the failure if a rank does not come to the end of a run to step `target`, in pass `pass` and
  /// after start() number `start`. `looked_seconds`: since the last call, at most.
  std::optional<TeamFailure> late_at_the_end(size_t target, uint64_t pass, uint64_t start,
                                             double looked_seconds);

 private:
  void find_lost(RunFailure& failure) const;
  std::vector<Whereabouts> whereabouts(const std::vector<int>& ranks) const;

  const Program& program_;
  const Seats& seats_;
  const std::vector<std::unique_ptr<Rank>>& ranks_;
  std::vector<std::pair<int, TeamFailure>> reports_;  ///< [.].first: the rank that reports
  double first_report_seconds_ = 0;
  size_t seen_progress_ = 0;    ///< steps begun and finished by all ranks, at the last look
  double stalled_seconds_ = 0;  ///< how long the caller has seen no progress since
};

}  // namespace shardlens
