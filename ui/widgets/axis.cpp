// Computes places on a logarithmic axis, and chooses labels that do not touch.
#include "ui/widgets/axis.h"

#include <algorithm>
#include <cmath>

namespace shardlens::ui {

double log_fraction(double value, double low, double high) {
  if (value <= low) return 0;
  return std::min(1.0, std::log(value / low) / std::log(high / low));
}

double log_value(double fraction, double low, double high) {
  return low * std::pow(high / low, std::clamp(fraction, 0.0, 1.0));
}

std::vector<bool> labels_that_fit(const std::vector<float>& centres, const std::vector<float>& widths,
                                  float gap, const std::vector<size_t>& first) {
  std::vector<bool> shown(centres.size(), false);
  auto try_show = [&](size_t i) {
    if (i >= centres.size() || shown[i]) return;
    for (size_t other = 0; other < centres.size(); ++other)
      if (shown[other] && std::abs(centres[other] - centres[i]) < (widths[other] + widths[i]) / 2 + gap)
        return;
    shown[i] = true;
  };
  for (size_t i : first) try_show(i);
  for (size_t i = 0; i < centres.size(); ++i) try_show(i);
  return shown;
}

}  // namespace shardlens::ui
