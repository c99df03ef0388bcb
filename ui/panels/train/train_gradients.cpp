// The gradients of a training before they are clipped. A training that goes wrong shows it here first.
#include <fmt/format.h>

#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/train/train_snapshot.h"
#include "ui/panels/train/train_plot.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"
#include "ui/widgets/heatmap.h"

namespace shardlens::ui {
namespace {

constexpr size_t kMostColumns = 120;  ///< of the picture
constexpr double kSmallestNorm = 1e-12;

double norm_of(const StepReport& report) {
  return report.gradient_norm;
}

/// Draws one line, if only the norm of all gradients is known: recordings of the command line do not have
/// each layer's norm.
void draw_norm(const Context& context, const TrainCurve& curve, ImVec2 min, ImVec2 size) {
  const Points points = of_steps(curve, norm_of);
  Extent extent;
  extent.take(points);
  std::vector<Legend> legends;
  if (!extent.empty())
    legends.push_back(
        {fmt::format("{} before clipping{}", format_value(read_line(points).y.back()), mean_words(curve)),
         0});
  const float head = draw_head(context, min, size.x, "Gradient norm by step", legends);
  if (!begin_plot(context, "##norm", {min.x, min.y + head}, {size.x, size.y - head}, step_axis(context.train),
                  0, extent.empty() ? 1 : 1.1 * std::max(extent.high, 1e-12), nullptr))
    return;
  const ImU32 colour = curve_colour(context.theme, 0);
  plot_line("norm of each step", points, faded(colour, 0.35f), context.px(1));
  plot_line("norm", read_line(points), colour, context.px(2));
  draw_steps_under_mouse(context);
  end_plot();
}

/// Draws the gradient norms of one curve: one row for each group in the model's order, one column for each
/// stretch of steps. A cell is the largest norm of its stretch, on a logarithmic scale that all curves share.
/// A cell stays empty if all of its steps overflowed.
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
  const size_t stretch = stretch_of(curve.steps.size(), kMostColumns);
  if (stretch > 1)
    legends.push_back(
        {fmt::format("the largest of {} steps", stretch), 0, false, fmt::format("largest of {}", stretch)});
  const float head = draw_head(context, min, size.x, title, legends);
  float label = 0;
  for (const std::string& group : curve.groups) label = std::max(label, text_width(type.note, group));
  label += context.px(8);
  const ImVec2 from{min.x + label, min.y + head};
  const ImVec2 to{min.x + size.x - context.px(8), min.y + size.y - type.mono_note.size - context.px(8)};
  list->AddRectFilled(from, to, context.theme.card);
  if (groups == 0 || to.y - from.y < context.px(24)) return;
  const float row = (to.y - from.y) / static_cast<float>(groups);
  const StepAxis axis = step_axis(context.train);
  const auto x_of = [&](int64_t step) {
    const double share = (static_cast<double>(step) - axis.begin) / (axis.end - axis.begin);
    return std::round(from.x + (to.x - from.x) * static_cast<float>(std::clamp(share, 0.0, 1.0)));
  };
  const auto step_of = [&](size_t i) { return curve.steps[i]->report.step; };
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
    for (size_t i = 0; i < points.size(); ++i) {
      if (!std::isfinite(points.y[i])) continue;
      const size_t last = std::min((i + 1) * stretch, curve.steps.size()) - 1;
      const float left = x_of(step_of(i * stretch) - 1), right = x_of(step_of(last) + curve.stride - 1);
      list->AddRectFilled({left, top}, {std::max(right, left + 1), bottom},
                          colour_of((points.y[i] - extent.low) / span, {ColourMap::Magnitude, 1}));
    }
  }
  if (const auto shown = shown_step(context, curve)) {
    const float x = x_of(*shown);
    list->AddLine({x, from.y}, {x, to.y}, context.theme.text, context.px(1.5f));
  }
  draw_text(list, {from.x, to.y + context.px(4)}, type.mono_note, grouped_text(std::llround(axis.begin)));
  draw_text(list, {to.x, to.y + context.px(4)}, type.mono_note,
            grouped_text(std::llround(axis.end)) + " steps", Align::Right);
  ImGui::SetCursorScreenPos(from);
  ImGui::PushID(curve.name.c_str());
  ImGui::InvisibleButton("gradient norms", {to.x - from.x, to.y - from.y});
  ImGui::PopID();
  if (!ImGui::IsItemHovered()) return;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const auto group = std::min(groups - 1, static_cast<size_t>((mouse.y - from.y) / row));
  const double under = axis.begin + (mouse.x - from.x) / (to.x - from.x) * (axis.end - axis.begin);
  const int64_t step = static_cast<int64_t>(under) + 1;
  const size_t row_of_step = place_of(curve, step);
  if (row_of_step == curve.steps.size()) return;
  if (context.replay.is_open() && ImGui::IsMouseClicked(ImGuiMouseButton_Left))
    show_pass_of(context, curve, step);
  std::string text = fmt::format("{}, step {}\ngradient norm {}", curve.groups[group], step_of(row_of_step),
                                 format_value(curve.steps[row_of_step]->gradient_norms[group]));
  if (curve.steps[row_of_step]->report.skipped) text += "\nskipped on all ranks: overflowed";
  const size_t column = row_of_step / stretch;
  if (const double shown = rows[group].y[column]; stretch > 1 && std::isfinite(shown))
    text += fmt::format("\nshown: {}, the largest of steps {} to {}", format_value(std::pow(10, shown)),
                        step_of(column * stretch),
                        step_of(std::min((column + 1) * stretch, curve.steps.size()) - 1));
  show_tooltip(context, text);
}

}  // namespace

std::vector<Points> norm_rows(const TrainCurve& curve) {
  std::vector<Points> rows;
  for (size_t group = 0; group < curve.groups.size(); ++group) {
    rows.push_back(peaks(curve.steps.size(), kMostColumns, [&](size_t i) {
      const double norm = curve.steps[i]->gradient_norms[group];
      return norm < kSmallestNorm ? std::log10(kSmallestNorm) : std::log10(norm);
    }));
  }
  return rows;
}

void draw_gradients(const Context& context, const std::vector<ImVec2>& places, ImVec2 size) {
  const auto& curves = context.train.curves;
  if (context.replay.is_open() && curves.front()->groups.empty())
    return draw_norm(context, *curves.front(), places.front(), size);
  std::vector<std::vector<Points>> rows;
  Extent extent;
  for (const auto& curve : curves) {
    rows.push_back(norm_rows(*curve));
    for (const Points& row : rows.back()) extent.take(row);
  }
  for (size_t i = 0; i < curves.size(); ++i) {
    const std::string title =
        curves.size() > 1 ? "Gradient norms by step, " + curves[i]->name : "Gradient norms by step";
    draw_norms(context, *curves[i], rows[i], extent, title, places[i], size);
  }
}

}  // namespace shardlens::ui
