// The metrics of two recordings as curves in one plot, below the answer.
#include <fmt/format.h>
#include <implot.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "engine/train/experiments/diff_session.h"
#include "ui/panels/parts.h"
#include "ui/panels/recordings/diff_view.h"
#include "ui/panels/recordings/recordings_parts.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

constexpr size_t kFewPoints = 80;  ///< a curve with at most so many points marks each

ImPlotSpec line_of(ImU32 colour, float weight) {
  ImPlotSpec spec;
  spec.LineColor = ImGui::ColorConvertU32ToFloat4(colour);
  spec.LineWeight = weight;
  return spec;
}

void plot_curve(const Context& context, const char* id, const std::vector<ComparedCurve::Point>& points,
                bool is_b) {
  std::vector<double> x, y;
  for (const ComparedCurve::Point& point : points) {
    x.push_back(point.pass);
    y.push_back(point.value);
  }
  const ImU32 colour = run_colour(context.theme, is_b);
  ImPlotSpec line = line_of(colour, context.px(is_b ? 1.5f : 3));  // B is drawn over A, and both are visible
  if (points.size() <= kFewPoints) {
    line.Marker = is_b ? ImPlotMarker_Diamond : ImPlotMarker_Circle;
    line.MarkerSize = context.px(is_b ? 3.5f : 5);
    line.MarkerFillColor = line.LineColor;
    line.MarkerLineColor = line.LineColor;
  }
  ImPlot::PlotLine(id, x.data(), y.data(), static_cast<int>(x.size()), line);
}

struct Extent {
  double low = INFINITY, high = -INFINITY;
  void take(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

void draw_curve(const Context& context, const ComparedRuns& runs, const ComparedCurve& curve, ImVec2 min,
                ImVec2 size) {
  Extent passes, values;
  for (const auto* points : {&curve.a, &curve.b}) {
    for (const ComparedCurve::Point& point : *points) {
      passes.take(point.pass);
      values.take(point.value);
    }
  }
  if (!(passes.low <= passes.high)) passes = {0, 0};
  if (!(values.low <= values.high)) values = {0, 1};
  const double pad = std::max((values.high - values.low) * 0.08, std::abs(values.high) * 1e-3 + 1e-12);
  const double edge = std::max(0.5, (passes.high - passes.low) * 0.02);
  ImGui::SetCursorScreenPos(min);
  ImGui::PushFont(nullptr, kSmallSize);
  constexpr ImPlotFlags kQuiet = ImPlotFlags_NoLegend | ImPlotFlags_NoMenus | ImPlotFlags_NoBoxSelect |
                                 ImPlotFlags_NoMouseText | ImPlotFlags_NoTitle;
  if (ImPlot::BeginPlot("##metric", size, kQuiet)) {
    constexpr ImPlotAxisFlags kFixed = ImPlotAxisFlags_Lock | ImPlotAxisFlags_NoHighlight;
    ImPlot::SetupAxis(ImAxis_X1, nullptr, kFixed);
    ImPlot::SetupAxis(ImAxis_Y1, nullptr, kFixed);
    ImPlot::SetupAxisLimits(ImAxis_X1, passes.low - edge, passes.high + edge, ImPlotCond_Always);
    ImPlot::SetupAxisLimits(ImAxis_Y1, values.low - pad, values.high + pad, ImPlotCond_Always);
    if (passes.high - passes.low < 12) {  // no ticks between passes
      std::vector<double> ticks;
      for (double pass = passes.low; pass <= passes.high; ++pass) ticks.push_back(pass);
      ImPlot::SetupAxisTicks(ImAxis_X1, ticks.data(), static_cast<int>(ticks.size()));
    }
    plot_curve(context, "A", curve.a, false);
    plot_curve(context, "B", curve.b, true);
    if (const auto& parting = runs.diff.parting) {
      const ImVec2 low = ImPlot::GetPlotPos(), room = ImPlot::GetPlotSize();
      const float x = std::round(ImPlot::PlotToPixels(static_cast<double>(parting->a_pass), 0).x);
      ImDrawList* list = ImPlot::GetPlotDrawList();
      ImPlot::PushPlotClipRect();
      draw_dashed_line(list, {x, low.y}, {x, low.y + room.y}, context.theme.communication, context.px(1.5f),
                       context.px(4));
      const Type type(context);
      const TextStyle style = in(type.note, context.theme.communication);
      const bool left = x > low.x + room.x - text_width(style, "they part") - context.px(12);
      draw_text(list, {x + context.px(left ? -6 : 6), low.y + context.px(4)}, style, "they part",
                left ? Align::Right : Align::Left);
      ImPlot::PopPlotClipRect();
    }
    if (ImPlot::IsPlotHovered()) {
      const double pass = std::round(ImPlot::GetPlotMousePos().x);
      const auto value = [&](const std::vector<ComparedCurve::Point>& points) {
        const auto found =
            std::find_if(points.begin(), points.end(), [&](const auto& point) { return point.pass == pass; });
        return found == points.end() ? std::string("–") : fmt::format("{:.9g}", found->value);
      };
      show_tooltip(context,
                   fmt::format("pass {:.0f} of A\nA {}\nB {}", pass, value(curve.a), value(curve.b)));
    }
    ImPlot::EndPlot();
  }
  ImGui::PopFont();
}

}  // namespace

void draw_diff_metrics(const Context& context, const ComparedRuns& runs, ImVec2 min, ImVec2 size) {
  const Type type(context);
  DiffView& view = context.view.of<DiffView>();
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (runs.curves.empty()) {
    draw_wrapped(list, min, in(type.body, context.theme.dim),
                 "No loss or other metric is in both recordings. A layer has none. Record a whole model's "
                 "steps or a training.",
                 size.x);
    return;
  }
  size_t shown = 0;
  std::vector<std::string> names;
  for (size_t i = 0; i < runs.curves.size(); ++i) {
    names.push_back(metric_words(runs.curves[i].name));
    if (runs.curves[i].name == view.metric) shown = i;
  }
  float x = min.x;
  if (names.size() > 1) {
    const int clicked = choice_row(context, "metric", min, names, static_cast<int>(shown));
    if (clicked >= 0) view.metric = runs.curves[static_cast<size_t>(clicked)].name;
    x += choice_row_width(context, names) + context.px(20);
  }
  const ComparedCurve& curve = runs.curves[shown];
  const float line = choice_row_height(context), middle = min.y + line / 2;
  for (const bool is_b : {false, true}) {
    const auto& points = is_b ? curve.b : curve.a;
    const std::string words = points.empty()
                                  ? std::string(is_b ? "B" : "A")
                                  : fmt::format("{} ends at {:.5g}", is_b ? "B" : "A", points.back().value);
    fill_rect(list, {x, middle - context.px(is_b ? 1 : 2)},
              {x + context.px(14), middle + context.px(is_b ? 1 : 2)}, run_colour(context.theme, is_b));
    draw_text(list, {x + context.px(20), middle - type.note.size / 2}, in(type.note, context.theme.text),
              words);
    x += context.px(36) + text_width(type.note, words);
  }
  const std::string axis = names[shown] + " over passes of A";
  if (x + text_width(type.note, axis) < min.x + size.x)
    draw_text(list, {min.x + size.x, middle - type.note.size / 2}, type.note, axis, Align::Right);
  const float head = line + context.px(4);
  draw_curve(context, runs, curve, {min.x, min.y + head}, {size.x, size.y - head});
  copyable_table("compared metric", min, {min.x + size.x, min.y + size.y},
                 [&] { return curve_table(curve); });
}

}  // namespace shardlens::ui
