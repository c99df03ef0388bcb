// Measures this machine so that plans can be priced on it. Small models run step by step; the time of each
// kind of step for its amount of work becomes the preset's rates. Alpha and beta are fitted to the times of
// the same runs' collectives, from when every rank was there. A collective inside a layer finds its data
// where the products before it left them, and its partners asleep; one that is only repeated by itself would
// describe another, faster machine. The models that are measured here differ in every size from the models
// that are predicted later.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/config/hardware.h"
#include "engine/config/settings.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/step_times.h"

namespace shardlens {

/// A measured product. It takes time for its FLOPs and for its matrices; with few tokens the matrices' share
/// is larger.
struct ProductTime {
  double flops = 0, bytes = 0, seconds = 0;
};

/// Bytes of matrices per second, by least squares of the relative errors of seconds = flops / F + bytes / B;
/// 0 if the bytes explain nothing.
double operand_rate(const std::vector<ProductTime>& times);

/// Whole models between a few and a few hundred GFLOP for each step; two of them have few tokens for their
/// weights. None has the sizes of a preset. tp is 1.
std::vector<Settings> calibration_models(DType dtype);

/// T = 1, 2, 4, ... up to the number of cores, which is the last value.
std::vector<int> degrees_with_cores();

/// How a measurement reports its progress to its caller.
struct Measuring {
  /// Called often with what is measured now and the share that is done; may throw to end the measurement. May
  /// be empty.
  std::function<void(const std::string& doing, double share)> progress;

  void tell(const std::string& doing, double share) const {
    if (progress) progress(doing, share);
  }
};

/// Measures the preset "this-machine": runs each model on each T that has a core for every rank,
/// `repetitions` times. The lower quartile counts, so a short disturbance does not.
Hardware calibrate(const std::vector<Settings>& models, int repetitions, const Measuring& measuring = {});

/// Returns `measured`, plus what `before` has for other dtypes if it was measured on this machine too.
/// Figures without a dtype, such as the speed of memory and links, are those of `measured`.
Hardware with_other_dtypes(Hardware measured, const Hardware& before);

/// A run of `settings` on this machine beside its price on `hardware`, which was measured here; the fastest
/// of `repetitions` runs.
struct CalibrationCheck {
  Settings settings;
  TimeComparison times;
  double median_seconds = 0;
};
CalibrationCheck check_calibration(const Settings& settings, const Hardware& hardware, int repetitions);

}  // namespace shardlens
