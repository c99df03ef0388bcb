// Opens the plug-in that draws charts, and chooses the steps of an axis.
#include "engine/io/chart.h"

#include <algorithm>
#include <cmath>

#include "engine/config/module.h"

namespace shardlens {

DrawChart open_chart_module() {
  return reinterpret_cast<DrawChart>(module_symbol("libshardlens_chart.so", "shardlens_draw_chart",
                                                   "it is built with the studio and needs cairo (Debian: "
                                                   "libcairo2); the tables hold everything that the chart "
                                                   "would show"));
}

std::vector<double> round_steps(double low, double high) {
  const std::vector<double> few{1, 2, 5}, all{1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<double> steps;
  for (int decade = static_cast<int>(std::floor(std::log10(low))) - 1;; ++decade) {
    for (const double digit : high < 10 * low ? all : few) {
      const double step = digit * std::pow(10.0, decade);
      if (step <= low) steps.clear();
      steps.push_back(step);
      if (step >= high && steps.size() > 1) return steps;
    }
  }
}

}  // namespace shardlens
