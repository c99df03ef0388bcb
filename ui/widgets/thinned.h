// Reduces a long history to few points, one for each of equal stretches, so that a plot costs the same after
// a hundred steps and after a hundred thousand. Values that are not finite (a step that overflowed) are
// ignored; a stretch with no finite value is NaN.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace shardlens::ui {

struct Points {
  std::vector<double> x, y;
  size_t size() const { return x.size(); }
};

/// Returns how many of `count` values one point stands for if there may be at most `most` points. The last
/// point may have fewer.
size_t stretch_of(size_t count, size_t most);

/// The mean of each stretch; x is its middle, counted from 1.
Points thinned(size_t count, size_t most, const std::function<double(size_t)>& value);
/// The largest value of each stretch, so that a peak stays visible in a long history.
Points peaks(size_t count, size_t most, const std::function<double(size_t)>& value);

/// The mean of the last `width` points up to each, for reading a noisy curve; NaN counts as no point.
Points smoothed(const Points& points, size_t width);

}  // namespace shardlens::ui
