// A chart on a page of its own: lines and measured points over two logarithmic axes. Plain data here; it is
// drawn by the module libshardlens_chart.so (ui/chart), so that a program without a window neither links what
// draws nor needs it to start.
#pragma once

#include <string>
#include <vector>

namespace shardlens {

struct ChartTick {
  double value = 1;
  std::string text;
};

/// Logarithmic, 0 < low < high.
struct ChartAxis {
  std::string label;  ///< with its unit
  double low = 1, high = 10;
  std::vector<ChartTick> ticks;
};

struct ChartPoint {
  double x = 1, y = 1;
  double low = 0, high = 0;  ///< of its spread; 0: none is drawn
  bool hollow = false;
  std::vector<std::string> words;  ///< lines beside it
};

struct ChartSeries {
  enum class Look { Line, Points };
  std::string name;  ///< in the legend
  Look look = Look::Line;
  std::vector<ChartPoint> points;  ///< of a line in order
};

struct Chart {
  std::string title, subtitle;
  ChartAxis x, y;
  std::vector<ChartSeries> series;
  std::vector<std::string> notes;  ///< lines under it
  int width = 1280, height = 720;  ///< pixels
};

/// What libshardlens_chart.so offers as extern "C" shardlens_draw_chart: `png` becomes a file's bytes, in the
/// light theme. Throws a run Error when the chart cannot be drawn.
using DrawChart = void (*)(const Chart& chart, std::string& png);

/// Opens the module. Throws a request Error that says what is missing.
DrawChart open_chart_module();

/// The 1, 2 and 5 of every decade from `low` to `high`, with the nearest such beyond each end; every digit
/// where the two are less than a decade apart.
std::vector<double> round_steps(double low, double high);

}  // namespace shardlens
