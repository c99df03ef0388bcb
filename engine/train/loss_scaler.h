// Dynamic loss scaling for fp16, in which small gradients would become zero. The loss is multiplied by a
// scale, and the update divides by it again. If a gradient overflows on any rank, the global norm is not
// finite on every rank. So all ranks skip the step, and the scale is halved. After many good steps in a row
// the scale is doubled. An overflow at the lowest scale is not caused by the scale.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace shardlens {

class LossScaler {
 public:
  static constexpr double kFirstScale = 65536;
  static constexpr double kLowestScale = 1;
  static constexpr double kLargestScale = 16777216;  // 2^24: a larger scale would save no more gradients
  static constexpr int64_t kPatience = 2000;         // good steps before the scale is doubled

  explicit LossScaler(double scale = kFirstScale, int64_t patience = kPatience, int64_t good_steps = 0)
      : scale_(scale), patience_(patience), good_steps_(good_steps) {}

  /// True for a power of two in range: only powers of two change no digit of a gradient.
  static bool is_possible(double scale) {
    return scale >= kLowestScale && scale <= kLargestScale &&
           std::exp2(std::round(std::log2(scale))) == scale;
  }

  /// The factor of the next pass's loss.
  double scale() const { return scale_; }
  bool at_lowest() const { return scale_ <= kLowestScale; }
  int64_t good_steps() const { return good_steps_; }  ///< good steps since the scale last changed

  /// Reports a step's result; `skipped`: the clip factor was 0.
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
