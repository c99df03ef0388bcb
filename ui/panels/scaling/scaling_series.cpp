// The pages weak, strong and heads: one chart with three kinds of points, and below it a line about each
// kind.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "engine/runtime/session/scaling_snapshot.h"
#include "ui/commands/command_button.h"
#include "ui/panels/scaling/scaling_parts.h"
#include "ui/panels/scaling/scaling_view.h"
#include "ui/widgets/format.h"
#include "ui/widgets/sentence.h"
#include "ui/widgets/stretch.h"

namespace shardlens::ui {
namespace {

constexpr int kMostTicks = 7;  ///< about: the times of a busy machine may need another number
constexpr std::array<Source, 3> kSources{Source::Paper, Source::Model, Source::Here};

std::vector<double> powers_of_two(double from, double to) {
  std::vector<double> powers;
  for (double x = from; x < 2 * to; x *= 2) powers.push_back(x);
  return powers;
}

/// The axes of a page, wide enough for all its points.
Chart axes_of(ScalingPage page, const std::vector<ScalingCurve>& curves) {
  Chart chart;
  double most_x = 8, low = 1, high = 1;
  std::set<double> places;
  for (const ScalingCurve& curve : curves) {
    for (const ScalingDot& dot : curve.dots) {
      places.insert(dot.x);
      most_x = std::max(most_x, dot.x);
      low = std::min(low, dot.value);
      high = std::max(high, dot.best.value_or(dot.value));
    }
  }
  chart.x_text = [](double x) { return fmt::format("{:g}", x); };
  if (page == ScalingPage::Strong) {
    chart.x_ticks = powers_of_two(1, most_x);
    chart.y_ticks = bounding_ticks({0, std::max(8.0, high)}, kMostTicks);
    chart.y_text = [](double y) { return fmt::format("{:g} ×", y); };
    chart.x_title = "ranks, T";
    return chart;
  }
  chart.x_ticks = page == ScalingPage::Heads && !places.empty()
                      ? std::vector<double>(places.begin(), places.end())
                      : powers_of_two(1, most_x);
  chart.y_ticks = bounding_ticks({low - 0.05, high + 0.05}, kMostTicks);
  chart.y_text = [](double y) { return fmt::format("{:.0f} %", 100 * y); };
  chart.x_title = page == ScalingPage::Heads ? "attention heads" : "ranks, T × D";
  return chart;
}

/// On one rank every speed is 1 by definition, so only the paper's point has a label there.
std::string label_of(ScalingPage page, Source source, const ScalingDot& dot) {
  const bool alone = page != ScalingPage::Heads && dot.x == 1;
  return alone && source != Source::Paper ? "" : scaling_text(page, dot.value);
}

Chart chart_of(const Context& context, ScalingPage page) {
  const std::vector<ScalingCurve> curves = scaling_curves(page, context.scaling);
  Chart chart = axes_of(page, curves);
  if (page == ScalingPage::Strong) {
    ChartCurve ideal{context.theme.faint, DotMark::None, true, {}};
    for (const double x : {1.0, 2.0, 4.0, 8.0}) ideal.dots.push_back({x, x, "", std::nullopt, "", ""});
    ideal.dots.back().label = "ideal";
    chart.curves.push_back(std::move(ideal));
  }
  for (const ScalingCurve& curve : curves) {
    const SourceLook look = look_of(context.theme, curve.source);
    ChartCurve drawn{look.colour, look.mark, look.dashed, {}};
    for (const ScalingDot& dot : curve.dots)
      drawn.dots.push_back({dot.x, dot.value, label_of(page, curve.source, dot), dot.best,
                            dot.best ? scaling_text(page, *dot.best) : "",
                            source_name(curve.source) + ": " + dot.what});
    // The page of weak scaling has two lines of the model.
    const auto named = std::find_if(drawn.dots.begin(), drawn.dots.end(),
                                    [](const ChartDot& dot) { return !dot.label.empty(); });
    if (page == ScalingPage::Weak && curve.source == Source::Model && named != drawn.dots.end())
      named->label += fmt::format(" · D = {}", curve.dp);
    // The paper gives only points, so no line joins them.
    if (curve.source == Source::Paper) {
      for (const ChartDot& dot : drawn.dots)
        chart.curves.push_back({drawn.colour, drawn.mark, drawn.dashed, {dot}});
    } else {
      chart.curves.push_back(std::move(drawn));
    }
  }
  return chart;
}

/// Draws the button that measures on this machine, or stops it. Returns the width it took at the right.
float draw_measuring(const Context& context, ImVec2 right_top) {
  const ScalingSnapshot& scaling = context.scaling;
  if (scaling.measures())
    return command_button_at(context, "scaling.stop", "Stop", ButtonLook::Plain, right_top);
  const bool again = scaling.measured && scaling.measured->complete();
  return command_button_at(context, "scaling.measure", again ? "Measure again" : "Measure on this machine",
                           again ? ButtonLook::Plain : ButtonLook::Accent, right_top);
}

std::string words_of(const Context& context, Source source, ScalingPage page) {
  std::string words = source_words(source, page, context.scaling);
  if (source != Source::Here) return words;
  if (context.scaling.measures())
    words += fmt::format(" Now {} ({}).", context.scaling.activity, format_percent(context.scaling.share));
  if (!context.scaling.message.empty()) words += " " + as_sentence(context.scaling.message);
  return words;
}

/// Every point of the chart, with its source.
TextTable copied(const Context& context, ScalingPage page) {
  TextTable table{{{"points"},
                   {page == ScalingPage::Heads ? "attention heads" : "ranks", Align::Right},
                   {page == ScalingPage::Strong ? "speed-up" : "efficiency", Align::Right},
                   {"with all-reduces of D overlapped", Align::Right},
                   {"of"}},
                  {}};
  for (const ScalingCurve& curve : scaling_curves(page, context.scaling))
    for (const ScalingDot& dot : curve.dots)
      table.rows.push_back({source_name(curve.source), fmt::format("{:g}", dot.x),
                            scaling_text(page, dot.value), dot.best ? scaling_text(page, *dot.best) : "",
                            dot.what});
  return table;
}

}  // namespace

void draw_scaling_series(const Context& context, ScalingPage page, ImVec2 min, ImVec2 size) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float name = context.px(128), gap = context.px(6), button = context.px(208);
  const WordRoom beside = room_for_words(context, size.x - name, button);
  float notes = 0;
  std::array<float, kSources.size()> heights{}, widths{};
  std::array<std::string, kSources.size()> words;
  for (size_t i = 0; i < kSources.size(); ++i) {
    words[i] = words_of(context, kSources[i], page);
    const bool here = kSources[i] == Source::Here;
    const float control = here ? context.px(kControlHeight) : 0;
    widths[i] = here ? beside.width : size.x - name;
    heights[i] = wrapped_height(type.note, words[i], widths[i]);
    heights[i] =
        here && beside.alone ? heights[i] + gap + control : std::max({control, type.note.size, heights[i]});
    notes += heights[i] + gap;
  }
  const float chart = std::max(context.px(170), size.y - notes - context.px(8));
  draw_chart(context, "scaling chart", chart_of(context, page), min, {size.x, chart});
  float y = min.y + chart + context.px(8);
  for (size_t i = 0; i < kSources.size(); ++i) {
    const SourceLook look = look_of(context.theme, kSources[i]);
    const float middle = y + type.note.size / 2 + context.px(1);
    draw_mark(list, {min.x + context.px(8), middle}, look.mark, context.px(5), look.colour);
    const TextStyle bold{context.fonts.bold, type.note.size, look.colour};
    draw_text(list, {min.x + context.px(22), y}, bold, source_name(kSources[i]));
    draw_wrapped(list, {min.x + name, y}, type.note, words[i], widths[i]);
    const float below = beside.alone ? heights[i] - context.px(kControlHeight) : 0;
    if (kSources[i] == Source::Here) draw_measuring(context, {min.x + size.x, y + below});
    y += heights[i] + gap;
  }
  copyable_table("scaling points", min, {min.x + size.x, y}, [&] { return copied(context, page); });
  ImGui::SetCursorScreenPos(min);
  ImGui::Dummy({size.x, y - min.y});
}

}  // namespace shardlens::ui
