// Measures this machine so that plans can be priced on it: small models are run step by step, and what each
// kind of step took for so much work becomes the preset's rates; alpha and beta are fitted to what the same
// runs' collectives took once every rank was there. A collective inside a layer finds its data where the
// products before it left them and its partners asleep, so one that is only repeated by itself would tell of
// another, faster machine. What is measured here is never what is predicted later: the models differ in every
// size.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/config/hardware.h"
#include "engine/config/settings.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/step_times.h"

namespace shardlens {

/// A product as it was measured. It takes time for its FLOPs and for its matrices, which few tokens share
/// less.
struct ProductTime {
  double flops = 0, bytes = 0, seconds = 0;
};

/// Bytes a second of the matrices, by least squares of the relative errors of seconds = flops / F + bytes /
/// B; 0 where the bytes explain nothing.
double operand_rate(const std::vector<ProductTime>& times);

/// Whole models between a few and a few hundred GFLOP a step, two of them of few tokens for their weights;
/// none has the sizes of a preset. tp is 1.
std::vector<Settings> calibration_models(DType dtype);

/// T = 1, 2, 4, ... up to the number of cores, which comes last.
std::vector<int> degrees_with_cores();

/// How a measurement goes on beside whoever asked for it.
struct Measuring {
  /// Told often what is measured and what share of all is done; may throw to give the rest up. May be empty.
  std::function<void(const std::string& doing, double share)> progress;

  void tell(const std::string& doing, double share) const {
    if (progress) progress(doing, share);
  }
};

/// The preset "this-machine" as measured: each model on each T that has a core for every rank, `repetitions`
/// times, of which the lower quartile counts, so that a moment's disturbance does not.
Hardware calibrate(const std::vector<Settings>& models, int repetitions, const Measuring& measuring = {});

/// `measured` and, where `before` was measured on this machine too, what that one knows of other dtypes. What
/// has none, memory's speed and the links', is the newer one's.
Hardware with_other_dtypes(Hardware measured, const Hardware& before);

/// `settings` run on this machine beside its price on `hardware`, which was measured here; the fastest of
/// `repetitions` runs.
struct CalibrationCheck {
  Settings settings;
  TimeComparison times;
  double median_seconds = 0;
};
CalibrationCheck check_calibration(const Settings& settings, const Hardware& hardware, int repetitions);

}  // namespace shardlens
