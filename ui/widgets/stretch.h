// The part of an axis that is visible: zoom about a point, pan, and round numbers for the ticks. This is
// plain arithmetic, so the timeline and its keys behave the same.
#pragma once

#include <vector>

namespace shardlens::ui {

/// [begin, end) of an axis, in the axis' own unit (seconds in the timeline, a fraction in a picture).
struct Stretch {
  double begin = 0;
  double end = 0;
  double size() const { return end - begin; }
  bool operator==(const Stretch&) const = default;
};

/// Moves and shortens `shown` as little as needed to be inside `all`. Returns `all` if `shown` is empty.
Stretch clamped(Stretch shown, Stretch all);

/// Makes `shown` `factor` times as large, at least `smallest` long and inside `all`. The point `at` keeps its
/// place.
Stretch zoomed(Stretch shown, double factor, double at, Stretch all, double smallest);

/// Moves `shown` by `share` of its own length, inside `all`.
Stretch panned(Stretch shown, double share, Stretch all);

/// Returns the multiples of a round step (1, 2 or 5 times a power of ten) inside `shown`. The step is the
/// smallest with which there are at most `most` multiples.
std::vector<double> round_ticks(Stretch shown, int most);

/// The same, and the next multiple at each end that is not a tick: an axis from the first to the last of them
/// holds all of `shown`.
std::vector<double> bounding_ticks(Stretch shown, int most);

}  // namespace shardlens::ui
