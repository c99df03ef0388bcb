// A chart on a page of its own: lines and measured points over two logarithmic axes. This file holds plain
// data only. The plug-in libshardlens_chart.so (ui/chart) draws it, so a program without a window needs no
// drawing library to link or to start.
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
  double low = 0, high = 0;  ///< ends of its error bar; 0: none is drawn
  bool hollow = false;
  std::vector<std::string> words;  ///< lines beside it
};

struct ChartSeries {
  enum class Look { Line, Points };
  std::string name;  ///< in the legend
  Look look = Look::Line;
  std::vector<ChartPoint> points;  ///< for a line, in drawing order
};

struct Chart {
  std::string title, subtitle;
  ChartAxis x, y;
  std::vector<ChartSeries> series;
  std::vector<std::string> notes;  ///< lines under it
  int width = 1280, height = 720;  ///< pixels
};

/// The function that libshardlens_chart.so exports as extern "C" shardlens_draw_chart. It sets `png` to the
/// bytes of a PNG file, in the light theme. Throws a run Error if the chart cannot be drawn.
using DrawChart = void (*)(const Chart& chart, std::string& png);

/// Opens the plug-in. Throws a request Error that says what is missing.
DrawChart open_chart_module();

/// Returns the 1, 2 and 5 of every decade from `low` to `high`, and the nearest such value beyond each end;
/// every digit if the two are less than a decade apart.
std::vector<double> round_steps(double low, double high);

}  // namespace shardlens
