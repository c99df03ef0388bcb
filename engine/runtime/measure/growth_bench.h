// Growth measured: real training steps of every size that this machine can run in the time it was given,
// beside the cost model's, priced with a calibration of the same minutes.
#pragma once

#include <string>
#include <vector>

#include "engine/cost/growth.h"
#include "engine/runtime/measure/calibrate.h"

namespace shardlens {

/// Of a size that is too large to be run whole: so many of its layers were, and the step of all of them is
/// the smaller one's and as many times the difference of a layer as are missing.
struct SampledLayers {
  int64_t fewer = 0, more = 0;  ///< 0: the whole model ran
  bool is_whole() const { return more == 0; }
};

struct GrowthRow {
  GrowthPoint point;
  double predicted_seconds = 0;  ///< 0 where left_out says why
  int64_t planned_bytes = 0;     ///< of all ranks together
  SampledLayers sampled;
  std::vector<double> seconds;  ///< measured, in order; the first step, which warms up, is not among them
  std::string left_out;         ///< why nothing was measured; empty where something was

  double median_seconds() const;
  double lowest_seconds() const;
  double highest_seconds() const;
  /// Measured over predicted; 0 where nothing was measured.
  double of_prediction() const;
};

/// How much more `row` grew over `before` than the model says, by their medians: 1 is as predicted. 0 unless
/// both were measured.
double growth_beyond_model(const GrowthRow& before, const GrowthRow& row);

/// True where that is beyond what the repetitions' spread and a tenth explain.
bool grows_worse(const GrowthRow& before, const GrowthRow& row);

struct GrowthLimits {
  double budget_seconds = 300;       ///< of the whole: calibration and steps
  double longest_step_seconds = 60;  ///< a step that would take longer is run in a few layers
  int repetitions = 5;               ///< of each size, fewer where the budget asks for it
  int64_t memory_bytes = 0;          ///< all ranks together may hold; 0: 85 % of what is free
};

struct Growth {
  std::string machine;
  Hardware hardware;  ///< as calibrated at its begin
  GrowthLimits limits;
  double seconds = 0;           ///< it took
  std::vector<GrowthRow> rows;  ///< as growth_points() has them
};

/// Rows without measurements: what the model says of `points` on `hardware`, and which of them are left out
/// or sampled by limits.memory_bytes (given) and limits.longest_step_seconds.
std::vector<GrowthRow> predicted_growth(const std::vector<GrowthPoint>& points, const Hardware& hardware,
                                        const GrowthLimits& limits);

/// Runs `points`, the quickest first, each as often as all that are left can be run in what is left of the
/// budget, which the last step begun may pass. `hardware` is this machine, calibrated. Throws a request Error
/// where not one of them can be run, and what a run throws.
Growth measure_growth(const std::vector<GrowthPoint>& points, const Hardware& hardware,
                      const GrowthLimits& limits, const Measuring& measuring = {});

/// growth_points(base), on a calibration that is made first and counts into the budget.
Growth measure_growth(const Settings& base, GrowthLimits limits, const Measuring& measuring = {});

/// One axis' rows as CSV, a header line first; seconds and bytes.
std::string growth_csv(const Growth& growth, GrowthAxis axis);

}  // namespace shardlens
