// Logarithmic places and labels that do not touch. Plain arithmetic, in the units of the data; round ticks
// are in stretch.h.
#pragma once

#include <cstddef>
#include <vector>

namespace shardlens::ui {

/// A value's place on a logarithmic axis, 0 at `low` and 1 at `high`, clamped; and the way back.
double log_fraction(double value, double low, double high);
double log_value(double fraction, double low, double high);

/// Of labels at `centres` (ascending) and `widths` wide, those that can be drawn without touching: first come
/// the ones in `first` (indices, most important first), then the others from the left. `gap` is kept free
/// between them.
std::vector<bool> labels_that_fit(const std::vector<float>& centres, const std::vector<float>& widths,
                                  float gap, const std::vector<size_t>& first);

}  // namespace shardlens::ui
