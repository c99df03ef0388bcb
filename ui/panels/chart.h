// A chart of few points that people must tell apart from a distance. The curves share a logarithmic axis, and
// each has its own mark as well as its own colour. Every point has its figure beside it, where it covers
// nothing.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ui/context.h"

namespace shardlens::ui {

enum class DotMark { None, Diamond, Circle, Triangle };

struct ChartDot {
  double x = 1, y = 0;
  std::string label;         ///< beside the point; may be empty
  std::optional<double> to;  ///< the other end, if the value is a range
  std::string to_label;
  std::string tooltip;
};

struct ChartCurve {
  ImU32 colour = 0;
  DotMark mark = DotMark::None;
  bool dashed = false;
  std::vector<ChartDot> dots;
};

struct Chart {
  std::vector<double> x_ticks, y_ticks;  ///< ascending; the first and last bound the axis
  std::function<std::string(double)> x_text, y_text;
  std::string x_title, y_title;
  bool log_y = false;
  std::optional<double> x_line;  ///< a vertical line, named by x_line_text
  std::string x_line_text;
  std::vector<ChartCurve> curves;
};

/// Draws into `size` pixels from `min`; the nearest point's tooltip follows the mouse.
void draw_chart(const Context& context, const char* id, const Chart& chart, ImVec2 min, ImVec2 size);

/// A curve's mark alone, for a legend.
void draw_mark(ImDrawList* list, ImVec2 centre, DotMark mark, float radius, ImU32 colour);

/// On which side of their points the figures at one x go if nothing is in their way: -1 below, 0 beside, 1
/// above. The highest is above, the lowest below, the others beside.
std::vector<int> label_sides(const std::vector<double>& values);

}  // namespace shardlens::ui
