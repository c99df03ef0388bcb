// The curves of a training run. Everything drawn was measured, here or where it was recorded; the one
// reference, the unigram entropy, is counted from the text itself.
#include <fmt/format.h>
#include <implot.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ui/panels/train_parts.h"
#include "ui/widgets/format.h"
#include "ui/widgets/heatmap.h"
#include "ui/widgets/thinned.h"

namespace shardlens::ui {
namespace {

constexpr size_t kMostPoints = 600;     ///< of a curve
constexpr size_t kMostColumns = 120;    ///< of the gradients' picture
constexpr double kSmoothShare = 0.025;  ///< of a curve's points, for the line that is read
constexpr double kSmallestNorm = 1e-12;

/// A word in a plot's head, in its curve's colour, with its newest value.
struct Legend {
  std::string text;
  ImU32 colour;
  bool dashed = false;
  std::string brief{};  ///< the same where there is less room; empty: no shorter
};

ImVec4 vec(ImU32 colour) {
  return ImGui::ColorConvertU32ToFloat4(colour);
}

/// Name and legend of a plot; returns the height it took. Legends that do not fit even briefly are left out.
float draw_head(const Context& context, ImVec2 at, float width, const std::string& title,
                const std::vector<Legend>& legends) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_text(list, at, type.strong, title);
  float x = at.x + text_width(type.strong, title) + context.px(16);
  const float middle = std::round(at.y + type.strong.size / 2);
  const float y = middle - type.note.size / 2;
  for (const Legend& legend : legends) {
    const float swatch = context.px(14);
    const float indent = legend.colour == 0 ? 0 : swatch + context.px(6);
    const auto fits = [&](const std::string& text) {
      return x + indent + text_width(type.note, text) <= at.x + width;
    };
    const std::string& text = fits(legend.text) || legend.brief.empty() ? legend.text : legend.brief;
    if (!fits(text)) break;
    if (legend.dashed) {
      draw_dashed_line(list, {x, middle}, {x + swatch, middle}, legend.colour, context.px(2), context.px(3));
    } else if (legend.colour != 0) {
      list->AddLine({x, middle}, {x + swatch, middle}, legend.colour, context.px(3));
    }
    draw_text(list, {x + indent, y}, in(type.note, context.theme.text), text);
    x += indent + text_width(type.note, text) + context.px(16);
  }
  return type.strong.size + context.px(8);
}

double steps_wanted(const TrainSnapshot& train) {
  size_t longest = 0;
  int64_t all = 1;
  for (const auto& curve : train.curves) {
    longest = std::max(longest, curve->steps.size() * static_cast<size_t>(curve->stride));
    all = std::max(all, curve->options.steps);
  }
  // A long run is not drawn into the left corner of its plot: the axis grows with it.
  return std::clamp(static_cast<double>(longest) * 1.25, std::min(50.0, static_cast<double>(all)),
                    static_cast<double>(all));
}

/// "2.5", or "14 k", as beside the plot's name.
int tick_text(double value, char* text, int size, void*) {
  const bool large = std::abs(value) >= 1000;
  const auto end =
      fmt::format_to_n(text, size - 1, "{:g}{}", large ? value / 1000 : value, large ? " k" : "");
  *end.out = '\0';
  return static_cast<int>(end.out - text);
}

/// Everything every plot does the same way: no menus, no boxes, small type, this frame's colours.
bool begin_plot(const Context& context, const char* id, ImVec2 min, ImVec2 size, double steps, double low,
                double high, const char* y_label) {
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
  ImPlot::SetupAxisLimits(ImAxis_X1, 0, steps, ImPlotCond_Always);
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

/// The line that is read; the curve itself stays faint behind it.
Points read_line(const Points& points) {
  return smoothed(points, kSmoothShare * static_cast<double>(points.size()));
}

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

Points of_steps(const TrainCurve& curve, double (*value)(const StepReport&)) {
  Points points =
      thinned(curve.steps.size(), kMostPoints, [&](size_t i) { return value(curve.steps[i]->report); });
  for (double& x : points.x) x = 1 + (x - 1) * static_cast<double>(curve.stride);
  return points;
}

/// What stands beside the text's entropy: the loss, of a BERT that of the hidden words alone.
double loss_of(const StepReport& report) {
  return report.parts ? report.parts->words : report.loss;
}
double loss_of(const ValidationReport& report) {
  return report.parts ? report.parts->words : report.loss;
}
std::string loss_text(const StepReport& report) {
  if (!report.parts) return format_value(report.loss) + " nats a token";
  return fmt::format("{}: hidden words {} nats a token, sentence order {}", format_value(report.loss),
                     format_value(report.parts->words), format_value(report.parts->sentences));
}
double scale_of(const StepReport& report) {
  return std::log2(report.loss_scale);
}
double norm_of(const StepReport& report) {
  return report.gradient_norm;
}
double speed_of(const StepReport& report) {
  return report.tokens_per_second;
}

Points validations_of(const TrainCurve& curve) {
  Points points;
  for (const ValidationReport& report : curve.validations) {
    points.x.push_back(static_cast<double>(report.step));
    points.y.push_back(loss_of(report));
  }
  return points;
}

/// What a plot shows at the mouse: the step under it, or -1.
int64_t hovered_step() {
  return ImPlot::IsPlotHovered() ? std::llround(ImPlot::GetPlotMousePos().x) : -1;
}

void draw_cursor(const Context& context, int64_t step) {
  const ImVec2 low = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
  const float x = ImPlot::PlotToPixels(static_cast<double>(step), 0).x;
  ImPlot::GetPlotDrawList()->AddLine({x, low.y}, {x, low.y + size.y}, context.theme.faint, 1);
}

bool is_scaled(const TrainCurve& curve) {
  return curve.options.settings.dtype == DType::Fp16;
}

std::string scale_text(double scale) {
  return grouped_text(static_cast<int64_t>(scale));
}

/// The lines of a tooltip about one step of every curve.
void step_tooltip(const TrainSnapshot& train, int64_t step) {
  std::string text;
  for (const auto& curve : train.curves) {
    const auto at = static_cast<size_t>(std::max<int64_t>(step - 1, 0) / curve->stride);
    if (step < 1 || at >= curve->steps.size()) continue;
    const StepReport& report = curve->steps[at]->report;
    text += fmt::format("{}{}, step {}\nloss {}\ngradient norm {}\nlearning rate {:.2e}\n{} tokens/s",
                        text.empty() ? "" : "\n\n", curve->name, report.step, loss_text(report),
                        format_value(report.gradient_norm), report.learning_rate,
                        format_count(report.tokens_per_second));
    if (report.of_ceiling > 0)
      text += fmt::format(", {} of the GEMM ceiling, {:.1f} GFLOP/s", format_percent(report.of_ceiling),
                          report.ceiling_flops / 1e9);
    const double first = curve->steps.front()->report.ceiling_flops;
    if (report.ceiling_flops > first)
      text += fmt::format(
          "\nraised from {:.1f}: a step was faster, so the machine was\nbusy while it was measured",
          first / 1e9);
    if (is_scaled(*curve)) text += fmt::format("\nloss scale {}", scale_text(report.loss_scale));
    if (report.skipped) text += "\nskipped on all ranks: the gradients overflowed";
  }
  if (!text.empty()) ImGui::SetTooltip("%s", text.c_str());
}

/// The step under the mouse, and of a recording the pass that is shown; a click shows another.
void draw_steps_under_mouse(const Context& context) {
  const int64_t step = hovered_step();
  if (context.replay.is_open()) {
    const ImVec2 low = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize();
    const float x = std::round(ImPlot::PlotToPixels(static_cast<double>(context.replay.pass + 1), 0).x);
    ImPlot::GetPlotDrawList()->AddLine({x, low.y}, {x, low.y + size.y}, context.theme.text, context.px(1.5f));
    if (step >= 1 && ImGui::IsMouseClicked(ImGuiMouseButton_Left))
      context.send(replay_command::ShowPass{step - 1});
  }
  if (step < 1) return;
  draw_cursor(context, step);
  step_tooltip(context.train, step);
}

/// Where a run ended that was to go on: in words beside its last step, where no curve is any more.
void mark_end(const Context& context, double step, double loss) {
  const Type type(context);
  const char* words = "ended here";
  const ImVec2 at = ImPlot::PlotToPixels(step, loss), low = ImPlot::GetPlotPos(),
               size = ImPlot::GetPlotSize();
  const float gap = context.px(10), width = text_width(type.note, words);
  const bool right = at.x + gap + width < low.x + size.x;
  const ImVec2 pen{right ? at.x + gap : at.x - width,
                   right ? at.y - type.note.size / 2 : at.y - type.note.size - gap};
  ImDrawList* list = ImPlot::GetPlotDrawList();
  fill_rect(list, {pen.x - context.px(2), pen.y}, {pen.x + width + context.px(2), pen.y + type.note.size},
            faded(context.theme.window, 0.75f));
  draw_text(list, pen, in(type.note, context.theme.text), words);
}

void draw_loss(const Context& context, ImVec2 min, ImVec2 size) {
  const TrainSnapshot& train = context.train;
  const Theme& theme = context.theme;
  const bool comparison = train.curves.size() > 1;
  const double entropy = train.text.unigram_entropy_nats;
  std::vector<Legend> legends;
  Extent extent;
  if (entropy > 0) extent.take(entropy);
  for (size_t i = 0; i < train.curves.size(); ++i) {
    const TrainCurve& curve = *train.curves[i];
    if (curve.steps.empty()) continue;
    const Points read = read_line(of_steps(curve, loss_of));
    legends.push_back(
        {fmt::format("{} {}", comparison ? curve.name : "training", format_value(read.y.back())),
         curve_colour(theme, i)});
    if (!curve.validations.empty() && !comparison)
      legends.push_back(
          {fmt::format("validation {}", format_value(loss_of(curve.validations.back()))), theme.agreement});
    extent.take(of_steps(curve, loss_of));
  }
  if (entropy > 0)
    legends.push_back({fmt::format("unigram entropy of the text {}", format_value(entropy)), theme.dim, true,
                       fmt::format("unigrams {}", format_value(entropy))});
  const bool hidden_words =
      !train.curves.empty() && train.curves[0]->options.settings.model.architecture == Architecture::Bert;
  legends.push_back({hidden_words ? "nats a hidden token, step by step" : "nats a token, step by step", 0});
  const float head = draw_head(context, min, size.x, "Loss", legends);
  const double low = extent.empty() ? 0 : extent.low, high = extent.empty() ? 1 : extent.high;
  const double room = std::max(0.05, 0.06 * (high - low));
  if (!begin_plot(context, "##loss", {min.x, min.y + head}, {size.x, size.y - head}, steps_wanted(train),
                  std::max(0.0, low - room), high + room, nullptr))
    return;
  if (entropy > 0) {
    const ImVec2 at = ImPlot::PlotToPixels(0, entropy);
    ImPlot::PushPlotClipRect();
    draw_dashed_line(ImPlot::GetPlotDrawList(), {at.x, std::round(at.y)},
                     {at.x + ImPlot::GetPlotSize().x, std::round(at.y)}, theme.dim, context.px(1.5f),
                     context.px(6));
    ImPlot::PopPlotClipRect();
  }
  for (size_t i = 0; i < train.curves.size(); ++i) {
    const TrainCurve& curve = *train.curves[i];
    if (curve.steps.empty()) continue;
    const std::string& name = curve.name;
    const ImU32 colour = curve_colour(theme, i);
    const Points points = of_steps(curve, loss_of);
    plot_line((name + " steps").c_str(), points, faded(colour, 0.35f), context.px(1));
    plot_line(name.c_str(), read_line(points), colour, context.px(2.5f));
    const Points checked = validations_of(curve);
    if (checked.size() > 0) {
      ImPlotSpec spec;
      spec.LineColor = vec(comparison ? colour : theme.agreement);
      spec.LineWeight = context.px(1.5f);
      spec.Marker = ImPlotMarker_Circle;
      spec.MarkerSize = context.px(3.5f);
      spec.MarkerFillColor = vec(theme.window);
      if (!comparison)
        ImPlot::PlotLine((name + " validation").c_str(), checked.x.data(), checked.y.data(),
                         static_cast<int>(checked.size()), spec);
    }
    if (!curve.ended.empty()) {
      const StepReport& last = curve.steps.back()->report;
      mark_end(context, static_cast<double>(last.step), loss_of(last));
    }
  }
  draw_steps_under_mouse(context);
  end_plot();
}

/// The loss scale of fp16 as a power of two, and the steps it skipped.
void draw_scale(const Context& context, ImVec2 min, ImVec2 size) {
  const TrainSnapshot& train = context.train;
  const ImU32 skip_colour = context.theme.communication;
  std::vector<Legend> legends;
  Extent extent;
  Points skips;
  for (size_t i = 0; i < train.curves.size(); ++i) {
    const TrainCurve& curve = *train.curves[i];
    if (curve.steps.empty()) continue;
    legends.push_back({scale_text(curve.steps.back()->report.loss_scale),
                       train.curves.size() > 1 ? curve_colour(context.theme, i) : 0});
    extent.take(of_steps(curve, scale_of));
    for (const auto& step : curve.steps) {
      if (!step->report.skipped) continue;
      skips.x.push_back(static_cast<double>(step->report.step));
      skips.y.push_back(scale_of(step->report));
    }
  }
  if (skips.size() > 0) legends.push_back({fmt::format("{} skipped", skips.size()), skip_colour});
  const float head = draw_head(context, min, size.x, "Loss scale", legends);
  const double low = extent.empty() ? 0 : std::floor(extent.low) - 1,
               high = extent.empty() ? 1 : std::ceil(extent.high) + 1;
  if (!begin_plot(context, "##scale", {min.x, min.y + head}, {size.x, size.y - head}, steps_wanted(train),
                  low, high, nullptr))
    return;
  // Only whole powers are scales.
  const double every = std::max(1.0, std::ceil((high - low) / 4));
  std::vector<double> ticks;
  std::vector<std::string> words;
  for (double power = low; power <= high; power += every) {
    ticks.push_back(power);
    words.push_back(fmt::format("2^{:g}", power));
  }
  std::vector<const char*> labels;
  for (const std::string& word : words) labels.push_back(word.c_str());
  ImPlot::SetupAxisTicks(ImAxis_Y1, ticks.data(), static_cast<int>(ticks.size()), labels.data());
  for (size_t i = 0; i < train.curves.size(); ++i) {
    const TrainCurve& curve = *train.curves[i];
    if (!curve.steps.empty())
      plot_line(curve.name.c_str(), of_steps(curve, scale_of), curve_colour(context.theme, i), context.px(2));
  }
  if (skips.size() > 0) {
    ImPlotSpec spec;
    spec.Marker = ImPlotMarker_Cross;
    spec.MarkerSize = context.px(3.5f);
    spec.MarkerLineColor = vec(skip_colour);
    spec.LineWeight = context.px(2);
    ImPlot::PlotScatter("skipped", skips.x.data(), skips.y.data(), static_cast<int>(skips.size()), spec);
  }
  draw_steps_under_mouse(context);
  end_plot();
}

void draw_speed(const Context& context, ImVec2 min, ImVec2 size) {
  const TrainSnapshot& train = context.train;
  std::vector<Legend> legends;
  Extent extent;
  for (size_t i = 0; i < train.curves.size(); ++i) {
    const TrainCurve& curve = *train.curves[i];
    if (curve.steps.empty()) continue;
    const StepReport& last = curve.steps.back()->report;
    std::string text = format_count(read_line(of_steps(curve, speed_of)).y.back()) + " tokens/s";
    if (last.of_ceiling > 0) text += fmt::format(", {} of the GEMM ceiling", format_percent(last.of_ceiling));
    legends.push_back({text, train.curves.size() > 1 ? curve_colour(context.theme, i) : 0});
    extent.take(of_steps(curve, speed_of));
  }
  const float head = draw_head(context, min, size.x, "Speed", legends);
  if (!begin_plot(context, "##speed", {min.x, min.y + head}, {size.x, size.y - head}, steps_wanted(train), 0,
                  extent.empty() ? 1 : 1.15 * extent.high, nullptr))
    return;
  for (size_t i = 0; i < train.curves.size(); ++i) {
    const TrainCurve& curve = *train.curves[i];
    if (curve.steps.empty()) continue;
    const ImU32 colour = curve_colour(context.theme, i);
    const Points points = of_steps(curve, speed_of);
    plot_line((curve.name + " steps").c_str(), points, faded(colour, 0.35f), context.px(1));
    plot_line(curve.name.c_str(), read_line(points), colour, context.px(2));
  }
  draw_steps_under_mouse(context);
  end_plot();
}

/// One line, where no more is known of the gradients: a recording has their norm, not each layer's.
void draw_norm(const Context& context, const TrainCurve& curve, ImVec2 min, ImVec2 size) {
  const Points points = of_steps(curve, norm_of);
  Extent extent;
  extent.take(points);
  std::vector<Legend> legends;
  if (!extent.empty())
    legends.push_back({fmt::format("{}, before clipping", format_value(read_line(points).y.back())), 0});
  const float head = draw_head(context, min, size.x, "Gradient norm", legends);
  if (!begin_plot(context, "##norm", {min.x, min.y + head}, {size.x, size.y - head},
                  steps_wanted(context.train), 0, extent.empty() ? 1 : 1.1 * std::max(extent.high, 1e-12),
                  nullptr))
    return;
  const ImU32 colour = curve_colour(context.theme, 0);
  plot_line("norm of each step", points, faded(colour, 0.35f), context.px(1));
  plot_line("norm", read_line(points), colour, context.px(2));
  draw_steps_under_mouse(context);
  end_plot();
}

/// The gradients' picture of one curve, thinned: log10 of the norms, a row a group.
std::vector<Points> norm_rows(const TrainCurve& curve) {
  std::vector<Points> rows;
  for (size_t group = 0; group < curve.groups.size(); ++group) {
    rows.push_back(thinned(curve.steps.size(), kMostColumns, [&](size_t i) {
      const double norm = curve.steps[i]->gradient_norms[group];
      return norm < kSmallestNorm ? std::log10(kSmallestNorm) : std::log10(norm);
    }));
  }
  return rows;
}

/// Gradient norms of one curve: a row a group in the model's own order, a column a stretch of steps, on the
/// logarithmic scale that all curves share. Where all steps of a stretch overflowed the ground shows.
void draw_norms(const Context& context, const TrainCurve& curve, const std::vector<Points>& rows,
                const Extent& extent, const std::string& title, ImVec2 min, ImVec2 size) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const size_t groups = curve.groups.size();
  std::vector<Legend> legends;
  if (!extent.empty())
    legends.push_back(
        {fmt::format("dark {} to bright {}, logarithmic", format_value(std::pow(10, extent.low)),
                     format_value(std::pow(10, extent.high))),
         0, false,
         fmt::format("dark {} … bright {}, log", format_value(std::pow(10, extent.low)),
                     format_value(std::pow(10, extent.high)))});
  const float head = draw_head(context, min, size.x, title, legends);
  float label = 0;
  for (const std::string& group : curve.groups) label = std::max(label, text_width(type.note, group));
  label += context.px(8);
  const ImVec2 from{min.x + label, min.y + head};
  const ImVec2 to{min.x + size.x - context.px(8), min.y + size.y - type.mono_note.size - context.px(8)};
  list->AddRectFilled(from, to, context.theme.card);
  if (groups == 0 || to.y - from.y < context.px(24)) return;
  const float row = (to.y - from.y) / static_cast<float>(groups);
  const double all = steps_wanted(context.train);
  const double span = extent.empty() ? 1 : std::max(0.1, extent.high - extent.low);
  const size_t every = static_cast<size_t>(std::ceil((type.note.size + context.px(1)) / row));
  for (size_t group = 0; group < groups; ++group) {
    const float top = std::round(from.y + row * static_cast<float>(group));
    const float bottom = std::round(from.y + row * static_cast<float>(group + 1));
    const bool named = group == 0 || group + 1 == groups || (group % every == 0 && group + every < groups);
    if (named)
      draw_text(list, {from.x - context.px(8), (top + bottom - type.note.size) / 2}, type.note,
                curve.groups[group], Align::Right);
    const Points& points = rows[group];
    const double stretch = points.size() > 1 ? points.x[1] - points.x[0] : 1;
    for (size_t i = 0; i < points.size(); ++i) {
      if (!std::isfinite(points.y[i])) continue;
      const auto place = [&](double step) {
        return std::round(from.x + (to.x - from.x) * static_cast<float>(std::clamp(step / all, 0.0, 1.0)));
      };
      const float left = place(points.x[i] - stretch / 2 - 0.5),
                  right = place(points.x[i] + stretch / 2 - 0.5);
      list->AddRectFilled({left, top}, {std::max(right, left + 1), bottom},
                          colour_of((points.y[i] - extent.low) / span, {ColourMap::Magnitude, 1}));
    }
  }
  draw_text(list, {from.x, to.y + context.px(4)}, type.mono_note, "0");
  draw_text(list, {to.x, to.y + context.px(4)}, type.mono_note, grouped_text(std::llround(all)) + " steps",
            Align::Right);
  ImGui::SetCursorScreenPos(from);
  ImGui::PushID(curve.name.c_str());
  ImGui::InvisibleButton("gradient norms", {to.x - from.x, to.y - from.y});
  ImGui::PopID();
  if (!ImGui::IsItemHovered()) return;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const auto group = std::min(groups - 1, static_cast<size_t>((mouse.y - from.y) / row));
  const auto step = static_cast<size_t>((mouse.x - from.x) / (to.x - from.x) * static_cast<float>(all));
  if (step < curve.steps.size())
    ImGui::SetTooltip("%s, step %lld\ngradient norm %s%s", curve.groups[group].c_str(),
                      static_cast<long long>(step + 1),
                      format_value(curve.steps[step]->gradient_norms[group]).c_str(),
                      curve.steps[step]->report.skipped ? "\nskipped on all ranks: overflowed" : "");
}

}  // namespace

ImU32 curve_colour(const Theme& theme, size_t curve) {
  return curve == 0 ? theme.forward : theme.text;
}

void draw_train_plots(const Context& context, ImVec2 min, ImVec2 size) {
  const TrainSnapshot& train = context.train;
  const float gap = context.px(16);
  const bool two_rows = size.y > context.px(220);
  const float share = size.y > context.px(400) ? 0.58f : 0.5f;
  const float upper = two_rows ? std::floor((size.y - gap) * share) : size.y;
  const bool scaled = std::any_of(train.curves.begin(), train.curves.end(),
                                  [](const auto& curve) { return is_scaled(*curve); });
  const float scale_width = scaled ? std::floor((size.x - gap) * 0.36f) : 0;
  draw_loss(context, min, {size.x - (scaled ? scale_width + gap : 0), upper});
  if (scaled) draw_scale(context, {min.x + size.x - scale_width, min.y}, {scale_width, upper});
  if (!two_rows || train.curves.empty()) return;
  const ImVec2 below{min.x, min.y + upper + gap};
  const float height = size.y - upper - gap;
  const size_t pictures = train.curves.size();
  // A comparison is about the gradients, one model about its speed as well.
  const size_t parts = pictures > 1 ? pictures : 2;
  const float width = std::floor((size.x - gap * static_cast<float>(parts - 1)) / static_cast<float>(parts));
  size_t place = 0;
  const auto next = [&] { return ImVec2(below.x + static_cast<float>(place++) * (width + gap), below.y); };
  if (pictures == 1) draw_speed(context, next(), {width, height});
  if (context.replay.is_open()) return draw_norm(context, *train.curves.front(), next(), {width, height});
  std::vector<std::vector<Points>> rows;
  Extent extent;
  for (const auto& curve : train.curves) {
    rows.push_back(norm_rows(*curve));
    for (const Points& row : rows.back()) extent.take(row);
  }
  for (size_t i = 0; i < pictures; ++i) {
    const TrainCurve& curve = *train.curves[i];
    draw_norms(context, curve, rows[i], extent,
               pictures > 1 ? "Gradient norms, " + curve.name : "Gradient norms", next(), {width, height});
  }
}

}  // namespace shardlens::ui
