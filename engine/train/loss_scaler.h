// Dynamic loss scaling for fp16, whose small gradients would become zero: the loss is multiplied by a scale,
// the update divides by it again. When a gradient overflows on any rank the global norm is not finite on
// every rank, so all skip the step, and the scale is halved; after many good steps in a row it is doubled.
// An overflow at the lowest scale is no longer the scale's fault.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace shardlens {

class LossScaler {
 public:
  static constexpr double kFirstScale = 65536;
  static constexpr double kLowestScale = 1;
  static constexpr double kLargestScale = 16777216;  // 2^24: beyond it nothing is left that could be saved
  static constexpr int64_t kPatience = 2000;         // good steps before the scale is doubled

  explicit LossScaler(double scale = kFirstScale, int64_t patience = kPatience, int64_t good_steps = 0)
      : scale_(scale), patience_(patience), good_steps_(good_steps) {}

  /// A power of two in range: only those change no digit of a gradient.
  static bool is_possible(double scale) {
    return scale >= kLowestScale && scale <= kLargestScale &&
           std::exp2(std::round(std::log2(scale))) == scale;
  }

  /// What the next pass multiplies its loss by.
  double scale() const { return scale_; }
  bool at_lowest() const { return scale_ <= kLowestScale; }
  int64_t good_steps() const { return good_steps_; }  ///< since the scale last changed

  /// Tells how a step went; `skipped`: the clip factor was 0.
  void step_done(bool skipped) {
    if (skipped) {
      scale_ = std::max(kLowestScale, scale_ / 2);
      good_steps_ = 0;
    } else if (++good_steps_ == patience_) {
      scale_ = std::min(kLargestScale, scale_ * 2);
      good_steps_ = 0;
    }
  }

 private:
  double scale_;
  int64_t patience_;
  int64_t good_steps_;
};

}  // namespace shardlens
