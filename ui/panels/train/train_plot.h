// Shared by all plots of a training: the head with the legend, the axes, the lines, and the tooltip for the
// step under the mouse.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "engine/train/train_snapshot.h"
#include "ui/panels/train/train_parts.h"
#include "ui/widgets/thinned.h"

namespace shardlens::ui {

/// A word in a plot's head, in its curve's colour, with its newest value.
struct Legend {
  std::string text;
  ImU32 colour;
  bool dashed = false;
  std::string brief{};  ///< a shorter text for less room; empty: there is none
};

/// Draws the name and the legends of a plot; returns the height it took. If the legends do not all fit, they
/// are brief; what still does not fit is left out.
float draw_head(const Context& context, ImVec2 at, float width, const std::string& title,
                const std::vector<Legend>& legends);

/// The range of the axis of every plot. It begins before the first step, which may be any: a recording may
/// have begun in the middle.
struct StepAxis {
  double begin, end;
};
StepAxis step_axis(const TrainSnapshot& train);

/// Begins a plot in the style of all: no menus, no boxes, small type, this frame's colours. Returns false if
/// it is not visible; else end_plot() must end it.
bool begin_plot(const Context& context, const char* id, ImVec2 min, ImVec2 size, const StepAxis& steps,
                double low, double high, const char* y_label);
void end_plot();

void plot_line(const char* id, const Points& points, ImU32 colour, float weight);
ImVec4 vec(ImU32 colour);

/// The smallest and the largest finite value seen so far.
struct Extent {
  double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
  bool empty() const { return low > high; }
  void take(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void take(const Points& points) {
    for (const double y : points.y) take(y);
  }
};

/// A value of every step, thinned to what a plot can show.
Points of_steps(const TrainCurve& curve, double (*value)(const StepReport&));
/// The smoothed line: means up to each step. The curve itself is drawn faint behind it.
Points read_line(const Points& points);
/// The words for those means, to follow the line's name: ", mean of 10 steps"; empty if each is of one step.
std::string mean_words(const TrainCurve& curve);

/// The index of `step` in the curve's steps; in a thinned recording, that of the last one before it. If there
/// is none, the number of steps.
size_t place_of(const TrainCurve& curve, int64_t step);

/// The speed of the newest steps, and its share of the ceiling, both over the same steps.
Legend speed_legend(const TrainCurve& curve);

/// log10 of the norms of a curve's gradients, one row for each group: the largest of each column's steps.
std::vector<Points> norm_rows(const TrainCurve& curve);

/// The step whose pass the open recording shows, if it is one of the curve's.
std::optional<int64_t> shown_step(const Context& context, const TrainCurve& curve);
/// Shows the pass of a step, if the recording has it.
void show_pass_of(const Context& context, const TrainCurve& curve, int64_t step);

/// Draws the step under the mouse and, for a recording, the shown pass; a click shows another.
void draw_steps_under_mouse(const Context& context);

/// True if the curve is trained with a loss scale.
bool is_scaled(const TrainCurve& curve);
std::string scale_text(double scale);

/// Draws gradient norms, a picture of `size` pixels in each of `places`: for every curve, one row for each
/// group of layers; a line for a recording that has only the norm of all.
void draw_gradients(const Context& context, const std::vector<ImVec2>& places, ImVec2 size);

}  // namespace shardlens::ui
