// A long history as few points: a value for each of equal stretches, so that a plot costs the same after a
// hundred steps and after a hundred thousand. What is not a finite number, a step that overflowed, counts in
// none: a stretch of nothing else is NaN.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace shardlens::ui {

struct Points {
  std::vector<double> x, y;
  size_t size() const { return x.size(); }
};

/// How many of `count` values a point stands for, where there may be `most` points; the last may have fewer.
size_t stretch_of(size_t count, size_t most);

/// The mean of each stretch; x is its middle, counted from 1.
Points thinned(size_t count, size_t most, const std::function<double(size_t)>& value);
/// The largest of each stretch, so that a peak stays seen however long the history grows.
Points peaks(size_t count, size_t most, const std::function<double(size_t)>& value);

/// The mean of the last `width` points up to each, for reading a noisy curve; NaN counts as no point.
Points smoothed(const Points& points, size_t width);

}  // namespace shardlens::ui
