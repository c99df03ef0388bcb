// How a run ended that failed: which ranks and which step, as data for drawing, and as text.
#pragma once

#include <string>
#include <vector>

#include "engine/config/error.h"
#include "engine/program/program.h"

namespace shardlens {

/// World ranks, numbered replica by replica.
struct RunFailure {
  std::vector<int> ranks;  ///< the one that threw, or those that did not come
  StepId step = -1;        ///< the step that it threw in, or that the others waited in; -1: before step 0
  bool lost = false;       ///< they did not come within Settings::timeout_seconds, and their threads may hang
};

/// What Executor::wait() throws when a rank failed or was lost.
class RunFailed : public Error {
 public:
  RunFailed(ErrorKind kind, const std::string& message, RunFailure failure)
      : Error(kind, message), failure_(std::move(failure)) {}
  const RunFailure& failure() const { return failure_; }

 private:
  RunFailure failure_;
};

/// Where a rank was when it was missed.
struct Whereabouts {
  int rank = 0;
  StepId step = -1;         ///< the step that it began last; -1: none yet
  bool is_inside = false;   ///< it has not finished that step
  double seconds = 0;       ///< since it began that step
  double held_seconds = 0;  ///< stands still on purpose before that step (Settings::delays); 0: it does not
};

/// How long the ranks of a run with these settings wait for one another: infinity if there is no time-out.
double timeout_seconds(const Settings& settings);

/// "rank 2", or with several replicas "rank 2 of replica 1".
std::string rank_text(const Program& program, int rank);
/// "step 7 (attn.proj: Z = A Wo)", or "before step 0".
std::string step_text(const Program& program, StepId step);

/// Returns the message of a rank that threw in `step`: "rank 2, step 7 (attn.proj: Z = A Wo): `why`".
std::string failed_message(const Program& program, int rank, StepId step, const std::string& why);
/// Returns the message about ranks that did not come to the collective of `failure.step`: which ranks, the
/// step and what it sums or collects, how long the others waited, and where the ranks are.
std::string lost_message(const Program& program, const RunFailure& failure, double waited_seconds,
                         const std::vector<Whereabouts>& whereabouts);
/// The same if the others have finished `failure.step`, the last step that was to run.
std::string lost_at_the_end_message(const Program& program, const RunFailure& failure, double waited_seconds,
                                    const std::vector<Whereabouts>& whereabouts);

}  // namespace shardlens
