// A stretch of an axis that a person looks at: zooming about a point, panning, and the round numbers at which
// to write its ticks. Plain arithmetic, so that the timeline and its keys share one behaviour.
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

/// `shown` moved and shortened as little as it takes to lie inside `all`; `all` itself when `shown` is empty.
Stretch clamped(Stretch shown, Stretch all);

/// `shown` made `factor` times as large with the point `at` staying where it is, at least `smallest` long,
/// inside `all`.
Stretch zoomed(Stretch shown, double factor, double at, Stretch all, double smallest);

/// `shown` moved by `share` of its own length, inside `all`.
Stretch panned(Stretch shown, double share, Stretch all);

/// The multiples of a round step (1, 2 or 5 times a power of ten) inside `shown`, with the smallest step that
/// makes them at most `most`.
std::vector<double> round_ticks(Stretch shown, int most);

/// The same and the next one at either end that is not a tick: the first and the last bound an axis that
/// holds all of `shown`.
std::vector<double> bounding_ticks(Stretch shown, int most);

}  // namespace shardlens::ui
