// Measures growth: real training steps of every size that this machine can run in the given time, beside the
// cost model's predictions, priced with a calibration of the same minutes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/cost/growth.h"
#include "engine/io/output_file.h"
#include "engine/runtime/measure/calibrate.h"

namespace shardlens {

/// For a size that is too large to run whole: two numbers of layers that were run instead. The time of the
/// whole step is the smaller step's plus the difference for each missing layer.
struct SampledLayers {
  int64_t fewer = 0, more = 0;  ///< 0: the whole model ran
  bool is_whole() const { return more == 0; }
};

struct GrowthRow {
  GrowthPoint point;
  double predicted_seconds = 0;  ///< 0 if left_out gives a reason
  int64_t planned_bytes = 0;     ///< of all ranks together
  SampledLayers sampled;
  std::vector<double> seconds;  ///< measured, in order; without the first step, which warms up
  std::string left_out;         ///< why nothing was measured; empty if something was

  double median_seconds() const;
  double lowest_seconds() const;
  double highest_seconds() const;
  /// Measured over predicted; 0 if nothing was measured.
  double of_prediction() const;
};

/// How much more `row` grew over `before` than the model predicts, by their medians: 1 is as predicted. 0
/// unless both were measured.
double growth_beyond_model(const GrowthRow& before, const GrowthRow& row);

/// True if that is more than the spread of the repetitions and a tenth explain.
bool grows_worse(const GrowthRow& before, const GrowthRow& row);

struct GrowthLimits {
  double budget_seconds = 300;       ///< for everything: calibration and steps
  double longest_step_seconds = 60;  ///< a step that would take longer runs with a few layers
  int repetitions = 5;               ///< of each size; fewer if the budget is short
  int64_t memory_bytes = 0;          ///< that all ranks together may use; 0: 85 % of what is free
};

struct Growth {
  std::string machine;
  Hardware hardware;  ///< as calibrated at the start
  GrowthLimits limits;
  double seconds = 0;           ///< that the study took
  std::vector<GrowthRow> rows;  ///< in the order of growth_points()
};

/// Rows without measurements: the predictions for `points` on `hardware`, and which points are left out or
/// sampled because of limits.memory_bytes (must be given) and limits.longest_step_seconds.
std::vector<GrowthRow> predicted_growth(const std::vector<GrowthPoint>& points, const Hardware& hardware,
                                        const GrowthLimits& limits);

/// Runs `points`, the quickest first. Each runs as often as the rest of the budget allows for all that are
/// left; the last step that was begun may exceed the budget. `hardware` is this machine, calibrated. Throws a
/// request Error if none of them can be run, and what a run throws.
Growth measure_growth(const std::vector<GrowthPoint>& points, const Hardware& hardware,
                      const GrowthLimits& limits, const Measuring& measuring = {});

/// Measures growth_points(base), with a calibration that is made first and counts into the budget.
Growth measure_growth(const Settings& base, GrowthLimits limits, const Measuring& measuring = {});

inline constexpr std::string_view kGrowthHead = "axis,size,model,parameters,layers,hidden,heads,";
inline constexpr OutputKind kGrowthTable{
    "a table that bench scaling wrote",
    [](std::string_view beginning, std::string_view) { return beginning.starts_with(kGrowthHead); }};

/// The rows of one axis as CSV, with a header line first, which begins with kGrowthHead; seconds and bytes.
std::string growth_csv(const Growth& growth, GrowthAxis axis);

}  // namespace shardlens
