// Zoom, pan and ticks of one axis: see stretch.h.
#include "ui/widgets/stretch.h"

#include <algorithm>
#include <cmath>

namespace shardlens::ui {

Stretch clamped(Stretch shown, Stretch all) {
  if (!(shown.size() > 0) || shown.size() >= all.size()) return all;
  if (shown.begin < all.begin) return {all.begin, all.begin + shown.size()};
  if (shown.end > all.end) return {all.end - shown.size(), all.end};
  return shown;
}

Stretch zoomed(Stretch shown, double factor, double at, Stretch all, double smallest) {
  shown = clamped(shown, all);
  if (!(shown.size() > 0)) return all;
  const double size = std::max(shown.size() * factor, std::min(smallest, all.size()));
  const double share = (at - shown.begin) / shown.size();
  const double begin = at - share * size;
  return clamped({begin, begin + size}, all);
}

Stretch panned(Stretch shown, double share, Stretch all) {
  shown = clamped(shown, all);
  const double shift = share * shown.size();
  return clamped({shown.begin + shift, shown.end + shift}, all);
}

namespace {

/// Returns the smallest round step of which at most `most` multiples fit inside `size`.
double round_step(double size, int most) {
  const double raw = size / most;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double multiple : {1.0, 2.0, 5.0})
    if (multiple * power >= raw * (1 - 1e-9)) return multiple * power;
  return 10 * power;
}

}  // namespace

std::vector<double> round_ticks(Stretch shown, int most) {
  std::vector<double> ticks;
  if (!(shown.size() > 0) || most < 1) return ticks;
  const double step = round_step(shown.size(), most);
  const double slack = step * 1e-6;  // a tick on the border belongs to the stretch in spite of rounding
  for (double n = std::ceil((shown.begin - slack) / step); n * step <= shown.end + slack; ++n) {
    ticks.push_back(n * step);
  }
  if (static_cast<int>(ticks.size()) > most) ticks.pop_back();
  return ticks;
}

std::vector<double> bounding_ticks(Stretch shown, int most) {
  if (!(shown.size() > 0) || most < 1) return {};
  const double step = round_step(shown.size(), most);
  std::vector<double> ticks;
  for (double n = std::floor(shown.begin / step + 1e-6);
       ticks.empty() || ticks.back() < shown.end - 1e-6 * step; ++n)
    ticks.push_back(n * step);
  return ticks;
}

}  // namespace shardlens::ui
