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

std::vector<double> round_ticks(Stretch shown, int most) {
  std::vector<double> ticks;
  if (!(shown.size() > 0) || most < 1) return ticks;
  // The smallest round step with which at most `most` multiples can fall inside.
  const double raw = shown.size() / most;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double multiple : {1.0, 2.0, 5.0}) {
    if (multiple * power >= raw * (1 - 1e-9)) {
      step = multiple * power;
      break;
    }
  }
  const double slack = step * 1e-6;  // a tick on the border belongs to the stretch in spite of rounding
  for (double n = std::ceil((shown.begin - slack) / step); n * step <= shown.end + slack; ++n) {
    ticks.push_back(n * step);
  }
  if (static_cast<int>(ticks.size()) > most) ticks.pop_back();
  return ticks;
}

}  // namespace shardlens::ui
