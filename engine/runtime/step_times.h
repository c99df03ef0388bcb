// A plan's predicted times beside the measured times of a run, step by step, in one struct. So a table, a
// check and a picture show the same two numbers.
#pragma once

#include <string>
#include <vector>

#include "engine/runtime/snapshot.h"

namespace shardlens {

/// The times of one step.
struct StepTimes {
  double predicted_seconds = 0;
  double measured_seconds = 0;  ///< without waiting for other ranks, like the prediction; of a collective
                                ///< from the moment when all ranks were there
  double waited_seconds = 0;    ///< of a collective: for the last rank; of an overlapped one: how long other
                                ///< steps waited for it
};

struct TimeComparison {
  std::string predicted_on;      ///< the name of the preset, and where its figures come from
  std::string measured_on;       ///< the machine that ran
  std::vector<StepTimes> steps;  ///< [step], each figure from the rank with the largest value
  std::vector<StepTimes> means;  ///< [step], the mean over the ranks: measured and waited, without overlapped
                                 ///< steps, add up to at most the pass
  double predicted_seconds = 0;  ///< predicted_pass_seconds(); 0: the preset does not state its speed
  double measured_seconds = 0;   ///< from the start to the end of the last rank, waiting included

  bool known() const { return predicted_seconds > 0 && measured_seconds > 0; }
  /// Predicted against measured: 0.1 means that the prediction is ten percent too slow.
  double error() const { return predicted_seconds / measured_seconds - 1; }
};

/// `events`: those of a whole run of the plan, [rank][step], like in Result. `plan.cost` holds the
/// predictions, for plan.program.settings.hardware.
TimeComparison compare_times(const Plan& plan, const std::vector<std::vector<StepEvent>>& events);

/// Gives `result`, whose plan is set, the events of a whole timed pass, [world rank, replica by
/// replica][step]; it keeps those of the first replica. Also sets what follows from them: what late ranks
/// cost, the forward and backward seconds of the slowest rank, and FLOP/s.
void set_times(Result& result, std::vector<std::vector<StepEvent>> events);

/// The seconds that one rank's last pass spent on the products between heads.
double attention_seconds(const Program& program, const RankTrace& trace);

}  // namespace shardlens
