// How a run ended that did not reach its end: which ranks and which step, for who draws it, and in words.
#pragma once

#include <string>
#include <vector>

#include "engine/config/error.h"
#include "engine/program/program.h"

namespace shardlens {

/// Of all T x D ranks, replica by replica.
struct RunFailure {
  std::vector<int> ranks;  ///< the one that threw, or those that did not come
  StepId step = -1;        ///< it threw in, or the others waited in; -1: before step 0
  bool lost = false;       ///< they did not come in Settings::timeout_seconds, and their threads may hang
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
  StepId step = -1;         ///< it began last; -1: none yet
  bool is_inside = false;   ///< and has not finished
  double seconds = 0;       ///< since it began it
  double held_seconds = 0;  ///< it stands still before it on purpose (Settings::delays); 0: it does not
};

/// How long the ranks of such a run wait for one another: infinity where there is no time-out.
double timeout_seconds(const Settings& settings);

/// "rank 2", of several replicas "rank 2 of replica 1".
std::string rank_text(const Program& program, int rank);
/// "step 7 (attn.proj: Z = A Wo)", or "before step 0".
std::string step_text(const Program& program, StepId step);

/// Of one that threw in `step`: "rank 2, step 7 (attn.proj: Z = A Wo): `why`".
std::string failed_message(const Program& program, int rank, StepId step, const std::string& why);
/// Of ranks that did not come to the collective of `failure.step`: who, the step and what it sums or
/// collects, how long was waited, and where they are.
std::string lost_message(const Program& program, const RunFailure& failure, double waited_seconds,
                         const std::vector<Whereabouts>& whereabouts);
/// The same where the others have finished `failure.step`, the last of what was to run.
std::string lost_at_the_end_message(const Program& program, const RunFailure& failure, double waited_seconds,
                                    const std::vector<Whereabouts>& whereabouts);

}  // namespace shardlens
