// Computes means and peaks of stretches.
#include "ui/widgets/thinned.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

namespace shardlens::ui {
namespace {

double mean_of(std::span<const double> values) {
  if (values.empty()) return std::nan("");
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double peak_of(std::span<const double> values) {
  return values.empty() ? std::nan("") : *std::ranges::max_element(values);
}

Points of_stretches(size_t count, size_t most, const std::function<double(size_t)>& value,
                    double (*fold)(std::span<const double>)) {
  Points points;
  if (count == 0 || most == 0) return points;
  const size_t stretch = stretch_of(count, most);
  std::vector<double> finite;
  for (size_t begin = 0; begin < count; begin += stretch) {
    const size_t end = std::min(count, begin + stretch);
    finite.clear();
    for (size_t i = begin; i < end; ++i)
      if (const double y = value(i); std::isfinite(y)) finite.push_back(y);
    points.x.push_back(1 + static_cast<double>(begin + end - 1) / 2);
    points.y.push_back(fold(finite));
  }
  return points;
}

}  // namespace

size_t stretch_of(size_t count, size_t most) {
  return std::max<size_t>(1, (count + most - 1) / most);
}

Points thinned(size_t count, size_t most, const std::function<double(size_t)>& value) {
  return of_stretches(count, most, value, mean_of);
}

Points peaks(size_t count, size_t most, const std::function<double(size_t)>& value) {
  return of_stretches(count, most, value, peak_of);
}

Points smoothed(const Points& points, size_t width) {
  Points out;
  out.x = points.x;
  std::vector<double> finite;
  for (const double y : points.y) {
    if (std::isfinite(y)) finite.push_back(y);
    out.y.push_back(mean_of(std::span(finite).last(std::min(width, finite.size()))));
  }
  return out;
}

}  // namespace shardlens::ui
