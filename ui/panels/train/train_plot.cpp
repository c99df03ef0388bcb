// The frame of a training's plots, and the tooltip at the mouse.
#include "ui/panels/train/train_plot.h"

#include <fmt/format.h>
#include <implot.h>

#include "engine/runtime/recordings/replay_snapshot.h"
#include "ui/frame/narrow.h"
#include "ui/outbox.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

constexpr size_t kMostPoints = 600;  ///< of a curve
constexpr double kMeanShare = 0.05;  ///< of a curve's points, for the smoothed line

/// "2.5", or "14 k", as beside the plot's name.
int tick_text(double value, char* text, int size, void*) {
  const bool large = std::abs(value) >= 1000;
  const auto end =
      fmt::format_to_n(text, size - 1, "{:g}{}", large ? value / 1000 : value, large ? " k" : "");
  *end.out = '\0';
  return static_cast<int>(end.out - text);
}

std::string loss_text(const StepReport& report) {
  if (!report.parts) return format_value(report.loss) + " nats per token";
  return fmt::format("{}: hidden words {} nats per token, sentence order {}", format_value(report.loss),
                     format_value(report.parts->words), format_value(report.parts->sentences));
}

size_t points_in_mean(size_t points) {
  return static_cast<size_t>(std::max(1.0, std::round(kMeanShare * static_cast<double>(points))));
}

/// The step under the mouse, or -1.
int64_t hovered_step() {
  return ImPlot::IsPlotHovered() ? std::llround(ImPlot::GetPlotMousePos().x) : -1;
}

void draw_cursor(const Context& context, int64_t step) {
  const ImVec2 low = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
  const float x = ImPlot::PlotToPixels(static_cast<double>(step), 0).x;
  ImPlot::GetPlotDrawList()->AddLine({x, low.y}, {x, low.y + size.y}, context.theme.faint, 1);
}

/// The lines of a tooltip about one step of every curve.
void step_tooltip(const Context& context, const TrainSnapshot& train, int64_t step) {
  std::string text;
  for (const auto& curve : train.curves) {
    const size_t at = place_of(*curve, step);
    if (at == curve->steps.size()) continue;
    const StepReport& report = curve->steps[at]->report;
    text += fmt::format("{}{}, step {}\nloss {}\ngradient norm {}\nlearning rate {:.2e}\n{} tokens/s",
                        text.empty() ? "" : "\n\n", curve->name, report.step, loss_text(report),
                        format_value(report.gradient_norm), report.learning_rate,
                        format_count(report.tokens_per_second));
    if (report.of_ceiling > 0)
      text += fmt::format("\n{:.1f} GFLOP/s, {} of the GEMM ceiling of {:.1f} GFLOP/s",
                          report.of_ceiling * report.ceiling_flops / 1e9, format_percent(report.of_ceiling),
                          report.ceiling_flops / 1e9);
    const double first = curve->steps.front()->report.ceiling_flops;
    if (report.ceiling_flops > first)
      text += fmt::format(
          "\nraised from {:.1f}: a step was faster, so the machine was busy when the ceiling was measured",
          first / 1e9);
    if (is_scaled(*curve)) text += fmt::format("\nloss scale {}", scale_text(report.loss_scale));
    if (report.skipped) text += "\nskipped on all ranks: the gradients overflowed";
  }
  if (!text.empty()) show_tooltip(context, text);
}

}  // namespace

ImVec4 vec(ImU32 colour) {
  return ImGui::ColorConvertU32ToFloat4(colour);
}

float draw_head(const Context& context, ImVec2 at, float width, const std::string& title,
                const std::vector<Legend>& legends) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_text(list, at, type.strong, title);
  float x = at.x + text_width(type.strong, title) + context.px(16);
  // A phone has no room beside the title: the words go on below it.
  const bool wraps = is_narrow(context.view);
  const float line = type.strong.size + context.px(2);
  float top = at.y;
  const float swatch = context.px(14), gap = context.px(16);
  const auto indent_of = [&](const Legend& legend) {
    return legend.colour == 0 ? 0 : swatch + context.px(6);
  };
  float whole = -gap;
  for (const Legend& legend : legends) whole += indent_of(legend) + text_width(type.note, legend.text) + gap;
  const bool brief = x + whole > at.x + width;
  for (const Legend& legend : legends) {
    const float indent = indent_of(legend);
    const std::string& text = brief && !legend.brief.empty() ? legend.brief : legend.text;
    if (x + indent + text_width(type.note, text) > at.x + width) {
      if (!wraps) break;
      x = at.x;
      top += line;
    }
    const float middle = std::round(top + type.strong.size / 2), y = middle - type.note.size / 2;
    if (legend.dashed) {
      draw_dashed_line(list, {x, middle}, {x + swatch, middle}, legend.colour, context.px(2), context.px(3));
    } else if (legend.colour != 0) {
      list->AddLine({x, middle}, {x + swatch, middle}, legend.colour, context.px(3));
    }
    draw_text(list, {x + indent, y}, in(type.note, context.theme.text), text);
    x += indent + text_width(type.note, text) + gap;
  }
  return top - at.y + type.strong.size + context.px(8);
}

StepAxis step_axis(const TrainSnapshot& train) {
  int64_t begin = 0, longest = 0, all = 1;
  for (const auto& curve : train.curves) {
    if (!curve->steps.empty()) {
      begin = curve->steps.front()->report.step - 1;
      longest = std::max(longest, curve->steps.back()->report.step - begin);
    }
    all = std::max(all, curve->options.steps - begin);
  }
  // The axis grows with the run. Otherwise a long run would begin in the left corner of its plot.
  const auto from = static_cast<double>(begin), most = static_cast<double>(all);
  return {from, from + std::clamp(static_cast<double>(longest) * 1.25, std::min(50.0, most), most)};
}

bool begin_plot(const Context& context, const char* id, ImVec2 min, ImVec2 size, const StepAxis& steps,
                double low, double high, const char* y_label) {
  ImGui::SetCursorScreenPos(min);
  ImGui::PushFont(nullptr, kSmallSize);
  ImPlot::PushStyleVar(ImPlotStyleVar_PlotPadding, ImVec2(context.px(2), context.px(4)));
  constexpr ImPlotFlags kQuiet = ImPlotFlags_NoLegend | ImPlotFlags_NoMenus | ImPlotFlags_NoBoxSelect |
                                 ImPlotFlags_NoMouseText | ImPlotFlags_NoTitle;
  if (!ImPlot::BeginPlot(id, size, kQuiet)) {
    ImPlot::PopStyleVar();
    ImGui::PopFont();
    return false;
  }
  ImPlot::SetupAxis(ImAxis_X1, nullptr, ImPlotAxisFlags_Lock | ImPlotAxisFlags_NoHighlight);
  ImPlot::SetupAxis(ImAxis_Y1, y_label, ImPlotAxisFlags_Lock | ImPlotAxisFlags_NoHighlight);
  ImPlot::SetupAxisFormat(ImAxis_Y1, tick_text);
  ImPlot::SetupAxisLimits(ImAxis_X1, steps.begin, steps.end, ImPlotCond_Always);
  ImPlot::SetupAxisLimits(ImAxis_Y1, low, high, ImPlotCond_Always);
  return true;
}

void end_plot() {
  ImPlot::EndPlot();
  ImPlot::PopStyleVar();
  ImGui::PopFont();
}

void plot_line(const char* id, const Points& points, ImU32 colour, float weight) {
  ImPlotSpec spec;
  spec.LineColor = vec(colour);
  spec.LineWeight = weight;
  ImPlot::PlotLine(id, points.x.data(), points.y.data(), static_cast<int>(points.size()), spec);
}

Points of_steps(const TrainCurve& curve, double (*value)(const StepReport&)) {
  const auto means_of = [&](auto of_report) {
    return thinned(curve.steps.size(), kMostPoints,
                   [&](size_t i) -> double { return of_report(curve.steps[i]->report); })
        .y;
  };
  return {means_of([](const StepReport& report) { return static_cast<double>(report.step); }),
          means_of(value)};
}

Points read_line(const Points& points) {
  return smoothed(points, points_in_mean(points.size()));
}

std::string mean_words(const TrainCurve& curve) {
  const size_t stretch = stretch_of(curve.steps.size(), kMostPoints);
  const size_t points = (curve.steps.size() + stretch - 1) / stretch;
  const size_t steps = points_in_mean(points) * stretch;
  if (steps == 1) return {};
  return fmt::format(", mean of {} steps", grouped_text(static_cast<int64_t>(steps) * curve.stride));
}

size_t place_of(const TrainCurve& curve, int64_t step) {
  const auto& steps = curve.steps;
  const auto after =
      std::ranges::upper_bound(steps, step, {}, [](const auto& known) { return known->report.step; });
  if (after == steps.begin() || step >= (*std::prev(after))->report.step + curve.stride) return steps.size();
  return static_cast<size_t>(after - steps.begin()) - 1;
}

bool is_scaled(const TrainCurve& curve) {
  return curve.options.settings.dtype == DType::Fp16;
}

std::string scale_text(double scale) {
  return grouped_text(static_cast<int64_t>(scale));
}

std::optional<int64_t> shown_step(const Context& context, const TrainCurve& curve) {
  if (!context.replay.is_open()) return std::nullopt;
  const int64_t pass = context.replay.pass;
  const auto row = static_cast<size_t>(pass / curve.stride);
  if (row >= curve.steps.size()) return std::nullopt;
  return curve.steps[row]->report.step + pass % curve.stride;
}

void show_pass_of(const Context& context, const TrainCurve& curve, int64_t step) {
  const size_t row = place_of(curve, step);
  if (row == curve.steps.size()) return;
  context.send(replay_command::ShowPass{static_cast<int64_t>(row) * curve.stride + step -
                                        curve.steps[row]->report.step});
}

void draw_steps_under_mouse(const Context& context) {
  const int64_t step = hovered_step();
  if (context.replay.is_open()) {
    const TrainCurve& curve = *context.train.curves.front();
    if (const auto shown = shown_step(context, curve)) {
      const ImVec2 low = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
      const float x = std::round(ImPlot::PlotToPixels(static_cast<double>(*shown), 0).x);
      ImPlot::GetPlotDrawList()->AddLine({x, low.y}, {x, low.y + size.y}, context.theme.text,
                                         context.px(1.5f));
    }
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) show_pass_of(context, curve, step);
  }
  if (step < 1) return;
  draw_cursor(context, step);
  step_tooltip(context, context.train, step);
}

}  // namespace shardlens::ui
