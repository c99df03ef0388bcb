// Places on a logarithmic axis, and labels that do not touch. Plain arithmetic in the units of the data.
// Round ticks are in stretch.h.
#pragma once

#include <cstddef>
#include <vector>

namespace shardlens::ui {

/// Returns a value's place on a logarithmic axis, 0 at `low` and 1 at `high`, clamped. log_value() is the
/// inverse.
double log_fraction(double value, double low, double high);
double log_value(double fraction, double low, double high);

/// Chooses which labels can be drawn without touching, with `gap` between them. Labels have their middles at
/// `centres` (ascending) and are `widths` wide. Those in `first` (indices, most important first) are placed
/// first, then the others from the left.
std::vector<bool> labels_that_fit(const std::vector<float>& centres, const std::vector<float>& widths,
                                  float gap, const std::vector<size_t>& first);

}  // namespace shardlens::ui
