// Means of stretches.
#include "ui/widgets/thinned.h"

#include <algorithm>
#include <cmath>

namespace shardlens::ui {

Points thinned(size_t count, size_t most, const std::function<double(size_t)>& value) {
  Points points;
  if (count == 0 || most == 0) return points;
  const size_t stretch = (count + most - 1) / most;
  for (size_t begin = 0; begin < count; begin += stretch) {
    const size_t end = std::min(count, begin + stretch);
    double sum = 0, counted = 0;
    for (size_t i = begin; i < end; ++i) {
      const double y = value(i);
      if (!std::isfinite(y)) continue;
      sum += y;
      ++counted;
    }
    points.x.push_back(1 + static_cast<double>(begin + end - 1) / 2);
    points.y.push_back(counted > 0 ? sum / counted : std::nan(""));
  }
  return points;
}

Points smoothed(const Points& points, double width) {
  Points out;
  out.x = points.x;
  const double keep = std::exp(-1 / std::max(width, 1e-9));
  double sum = 0, weight = 0;
  for (const double y : points.y) {
    if (std::isfinite(y)) {
      sum = keep * sum + y;
      weight = keep * weight + 1;
    }
    out.y.push_back(weight > 0 ? sum / weight : y);
  }
  return out;
}

}  // namespace shardlens::ui
