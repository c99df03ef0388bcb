// A plan's prediction beside what a run of it measured, step by step: one struct, so that a table, a check
// and a picture show the same two numbers.
#pragma once

#include <string>
#include <vector>

#include "engine/runtime/snapshot.h"

namespace shardlens {

/// Of one step.
struct StepTimes {
  double predicted_seconds = 0;
  double measured_seconds = 0;  ///< waiting for other ranks left out, as the prediction has none: of a
                                ///< collective from when all were there
  double waited_seconds = 0;    ///< of a collective: for the last rank; of one that goes on beside the steps:
                                ///< what these waited for it
};

struct TimeComparison {
  std::string predicted_on;      ///< the preset, and what its figures are
  std::string measured_on;       ///< the machine that ran
  std::vector<StepTimes> steps;  ///< [step], each figure that of the rank that has the most of it
  std::vector<StepTimes> means;  ///< [step], over the ranks: measured and waited add up to no more than the
                                 ///< pass, where what goes on beside the steps is left out
  double predicted_seconds = 0;  ///< predicted_pass_seconds(); 0: the preset does not state its speed
  double measured_seconds = 0;   ///< from the start to the last rank's end, waiting included

  bool known() const { return predicted_seconds > 0 && measured_seconds > 0; }
  /// Predicted against measured: 0.1 is ten percent too slow a prediction.
  double error() const { return predicted_seconds / measured_seconds - 1; }
};

/// `events` are those of a whole run of the plan, [rank][step], as in Result. `plan.cost` is what was
/// predicted, on plan.program.settings.hardware.
TimeComparison compare_times(const Plan& plan, const std::vector<std::vector<StepEvent>>& events);

/// Gives `result`, whose plan is set, the events of a whole timed pass, [rank, replica by replica][step], of
/// which it keeps the first replica's, and what follows from them: what late ranks cost, the slowest rank's
/// forward and backward seconds, and FLOP/s.
void set_times(Result& result, std::vector<std::vector<StepEvent>> events);

/// The seconds one rank's last pass spent on the products between heads.
double attention_seconds(const Program& program, const RankTrace& trace);

}  // namespace shardlens
