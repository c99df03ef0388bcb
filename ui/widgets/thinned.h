// A long history as few points: means of equal stretches, so that a plot costs the same after a hundred steps
// and after a hundred thousand. What is not a finite number, a step that overflowed, counts in no mean: a
// stretch of nothing else is NaN.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace shardlens::ui {

struct Points {
  std::vector<double> x, y;
  size_t size() const { return x.size(); }
};

/// At most `most` points of `count` values; x is the middle of a stretch, counted from 1.
Points thinned(size_t count, size_t most, const std::function<double(size_t)>& value);

/// A running mean over about `width` points before each, for reading a noisy curve.
Points smoothed(const Points& points, double width);

}  // namespace shardlens::ui
