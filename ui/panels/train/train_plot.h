// What every plot of a training has alike: its head with what is drawn in which colour, its axes, its lines,
// and what it says of the step under the mouse.
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
  std::string brief{};  ///< the same where there is less room; empty: no shorter
};

/// Name and legend of a plot; returns the height it took. Where the legends do not all fit they are brief,
/// and what does not fit even so is left out.
float draw_head(const Context& context, ImVec2 at, float width, const std::string& title,
                const std::vector<Legend>& legends);

/// The steps that the axis of every plot reaches over, from before the first: a recording may have begun in
/// the middle.
struct StepAxis {
  double begin, end;
};
StepAxis step_axis(const TrainSnapshot& train);

/// Everything every plot does the same way: no menus, no boxes, small type, this frame's colours. False when
/// it cannot be seen; else end_plot() ends it.
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
/// The line that is read of them, of means up to each step; the curve itself stays faint behind it.
Points read_line(const Points& points);
/// What those are means of, behind the line's name: ", mean of 10 steps"; nothing where each is of one.
std::string mean_words(const TrainCurve& curve);

/// Where in the curve's steps `step` is, or of a thinned recording the last one before it; none: their size.
size_t place_of(const TrainCurve& curve, int64_t step);

/// How fast the newest steps were, and which share of the ceiling that is: both of the same steps.
Legend speed_legend(const TrainCurve& curve);

/// log10 of the norms of a curve's gradients, a row a group: of each column's steps the largest.
std::vector<Points> norm_rows(const TrainCurve& curve);

/// Of a recording that is open: the step whose pass is shown, if it is one of the curve's.
std::optional<int64_t> shown_step(const Context& context, const TrainCurve& curve);
/// Shows the pass of a step, where the recording has it.
void show_pass_of(const Context& context, const TrainCurve& curve, int64_t step);

/// The step under the mouse, and of a recording the pass that is shown; a click shows another.
void draw_steps_under_mouse(const Context& context);

/// Trained with a loss scale.
bool is_scaled(const TrainCurve& curve);
std::string scale_text(double scale);

/// Gradient norms, a picture in each of `places`, of `size` pixels: of every curve a row a group of layers;
/// of a recording, which has their norm alone, a line.
void draw_gradients(const Context& context, const std::vector<ImVec2>& places, ImVec2 size);

}  // namespace shardlens::ui
