// The break-even of doubling T across the node's border. A layer computes for C seconds and communicates for
// K seconds on the ranks of one node; on two nodes it communicates for K' seconds. The step gets shorter if
// the saved C / 2 is more than the added K' - K.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "engine/runtime/session/scaling_snapshot.h"
#include "ui/panels/memory/memory_figures.h"
#include "ui/panels/scaling/scaling_parts.h"
#include "ui/panels/scaling/scaling_view.h"
#include "ui/widgets/format.h"
#include "ui/widgets/sentence.h"

namespace shardlens::ui {
namespace {

/// Draws the choice of the machine and of the layer. Returns the height.
float draw_choices(const Context& context, ImVec2 at, float width) {
  ScalingView& view = context.view.of<ScalingView>();
  std::vector<std::string> titles;
  int taken = -1;
  const std::vector<std::string> machines = node_machines();
  for (size_t i = 0; i < machines.size(); ++i) {
    titles.push_back(device_word(find_hardware(machines[i]).title));
    if (machines[i] == view.crossing) taken = static_cast<int>(i);
  }
  const int machine = choice_row(context, "machine", at, titles, taken);
  if (machine >= 0) view.crossing = machines[static_cast<size_t>(machine)];
  const std::array<std::string, 2> layers{"the paper's 8.3 B", "this run's layer"};
  const float machines_width = choice_row_width(context, titles) + context.px(16);
  const bool one_row = machines_width + choice_row_width(context, layers) <= width;
  const ImVec2 place = one_row ? ImVec2(at.x + machines_width, at.y)
                               : ImVec2(at.x, at.y + choice_row_height(context) + context.px(8));
  const int layer = choice_row(context, "layer", place, layers, view.this_run ? 1 : 0);
  if (layer >= 0) view.this_run = layer == 1;
  return choice_row_height(context) * (one_row ? 1 : 2) + (one_row ? 0 : context.px(8));
}

struct Bar {
  std::string name;
  double compute, collectives;
};

/// Draws the layer's time on T and on 2T ranks, as two bars of one scale. Returns the height.
float draw_bars(const Context& context, const BreakEven& even, ImVec2 at, float width) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const std::array<Bar, 2> bars{
      Bar{fmt::format("T = {}, one node", even.tp), even.compute_seconds, even.near_seconds},
      Bar{fmt::format("T = {}, two nodes", 2 * even.tp), even.compute_seconds / 2, even.far_seconds}};
  const float name = context.px(132), figure = context.px(84), height = context.px(24);
  const double longest =
      std::max(bars[0].compute + bars[0].collectives, bars[1].compute + bars[1].collectives);
  const float scale = (width - name - figure) / static_cast<float>(longest);
  float y = at.y;
  for (const Bar& bar : bars) {
    draw_text(list, {at.x, y + (height - type.body.size) / 2}, type.body, bar.name);
    const float x0 = at.x + name, x1 = x0 + scale * static_cast<float>(bar.compute);
    const float x2 = x1 + scale * static_cast<float>(bar.collectives);
    fill_rect(list, {x0, y}, {x1, y + height}, theme.forward);
    fill_rect(list, {x1, y}, {x2, y + height}, theme.communication);
    const auto inside = [&](float from, float to, const std::string& text, ImU32 ground) {
      const TextStyle style = in(type.note, legible_on(theme, ground));
      if (text_width(style, text) + context.px(8) < to - from)
        draw_text(list, {(from + to) / 2, y + (height - style.size) / 2}, style, text, Align::Centre);
    };
    inside(x0, x1, "computes " + format_seconds(bar.compute), theme.forward);
    inside(x1, x2, "collectives " + format_seconds(bar.collectives), theme.communication);
    draw_text(list, {x2 + context.px(8), y + (height - type.mono.size) / 2}, type.mono,
              format_seconds(bar.compute + bar.collectives));
    y += height + context.px(6);
  }
  return y - at.y;
}

/// A digit more than elsewhere, so that the two ratios come out as they stand below.
std::string four_digits(double seconds) {
  return fmt::format("{:#.4g} ms", seconds * 1e3);
}

/// Draws the formula with this run's numbers. Returns the height.
float draw_formula(const Context& context, const CrossingStudy& study, ImVec2 at, float width) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const BreakEven& even = study.even;
  float y = at.y;
  draw_text(list, {at.x, y}, type.mono, "Doubling T pays while  C / K  >  2 (K′ / K − 1)");
  y += type.mono.size + context.px(6);
  const std::string numbers = fmt::format(
      "C {}: the layer computes, T\u00A0=\u00A0{}.  K {}: its collectives inside the node.  K′ {}: the same "
      "over two nodes, T\u00A0=\u00A0{}.",
      four_digits(even.compute_seconds), even.tp, four_digits(even.near_seconds),
      four_digits(even.far_seconds), 2 * even.tp);
  y += draw_wrapped(list, {at.x, y}, in(type.body, theme.text), numbers, width) + context.px(6);
  const double before = even.compute_seconds + even.near_seconds,
               after = even.compute_seconds / 2 + even.far_seconds;
  const std::string verdict = fmt::format(
      "C / K = {:.2f}, needed {:.2f}: T = {} {}, {} becomes {}", even.ratio(), even.break_even_ratio(),
      2 * even.tp, even.pays() ? "pays" : "does not pay", format_seconds(before), format_seconds(after));
  y += draw_wrapped(list, {at.x, y}, in(type.strong, even.pays() ? theme.agreement : theme.communication),
                    verdict, width);
  return y + context.px(12) - at.y;
}

Chart chart_of(const Context& context, const CrossingStudy& study) {
  Chart chart;
  ChartCurve ratio{context.theme.forward, DotMark::Circle, false, {}},
      border{context.theme.communication, DotMark::None, true, {}};
  double most = 2, least = 1;
  for (const Crossing& crossing : study.by_hidden) {
    const auto x = static_cast<double>(crossing.hidden);
    const double value = crossing.even.ratio(), needed = crossing.even.break_even_ratio();
    // Beside a lesson not all widths have room; these are those that a text names.
    const bool is_end = &crossing == &study.by_hidden.front() || &crossing == &study.by_hidden.back();
    if (is_end || std::has_single_bit(static_cast<uint64_t>(crossing.hidden))) chart.x_ticks.push_back(x);
    ratio.dots.push_back(
        {x, value, fmt::format("{:#.3g}", value), std::nullopt, "",
         fmt::format("hidden {}: C/K = {:.2f}, needed {:.2f}", crossing.hidden, value, needed)});
    border.dots.push_back({x, needed, "", std::nullopt, "", ratio.dots.back().tooltip});
    most = std::max({most, value, needed});
    least = std::min({least, value, needed});
  }
  for (int decade = static_cast<int>(std::floor(std::log10(least)));; ++decade) {
    for (const double step : {1, 2, 5}) {
      const double tick = step * std::pow(10, decade);
      if (tick <= least) chart.y_ticks.clear();  // the axis begins at the last tick below all values
      chart.y_ticks.push_back(tick);
      if (tick >= most) break;
    }
    if (chart.y_ticks.back() >= most) break;
  }
  chart.log_y = true;
  chart.x_text = [](double x) { return grouped_text(static_cast<int64_t>(x)); };
  chart.y_text = [](double y) { return fmt::format("{:g}", y); };
  chart.x_title = "hidden size of the layer";
  chart.y_title = fmt::format("C / K at this width (line), and what is needed (dashed): above it T = {} pays",
                              2 * study.settings.tp);
  const auto hidden = static_cast<double>(study.settings.model.hidden);
  if (!chart.x_ticks.empty() && hidden >= chart.x_ticks.front() && hidden <= chart.x_ticks.back()) {
    chart.x_line = hidden;
    chart.x_line_text = fmt::format("hidden {}", study.settings.model.hidden);
  }
  chart.curves = {border, ratio};
  return chart;
}

/// The two bars, and the layer at every width of the chart.
TextTable copied(const CrossingStudy& study) {
  TextTable table{{{"hidden", Align::Right},
                   {"T", Align::Right},
                   {"computes at T", Align::Right},
                   {"communicates at T", Align::Right},
                   {"communicates at 2T", Align::Right},
                   {"C / K", Align::Right},
                   {"break-even", Align::Right},
                   {"2T pays"}},
                  {}};
  const auto add = [&](int64_t hidden, const BreakEven& even) {
    table.rows.push_back({std::to_string(hidden), std::to_string(even.tp),
                          format_seconds(even.compute_seconds), format_seconds(even.near_seconds),
                          format_seconds(even.far_seconds), fmt::format("{:.2f}", even.ratio()),
                          fmt::format("{:.2f}", even.break_even_ratio()), even.pays() ? "yes" : "no"});
  };
  if (study.refused.empty()) add(study.settings.model.hidden, study.even);
  for (const auto& point : study.by_hidden) add(point.hidden, point.even);
  return table;
}

}  // namespace

void draw_break_even(const Context& context, ImVec2 min, ImVec2 size) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  float y = min.y + context.px(4);
  y += draw_choices(context, {min.x, y}, size.x) + context.px(12);
  const CrossingStudy* study = context.scaling.crossing.get();
  if (study == nullptr) {
    draw_text(list, {min.x, y}, type.body, "Computing the estimate.");
    return;
  }
  const bool priced = study->refused.empty();
  const Settings& s = study->settings;
  if (priced) {
    const bool beside = size.x > context.px(980);
    const float width = beside ? (size.x - context.px(32)) / 2 : size.x;
    const float left = draw_formula(context, *study, {min.x, y}, width);
    const float bars_y = beside ? y : y + left;
    const float right =
        draw_bars(context, study->even, {beside ? min.x + width + context.px(32) : min.x, bars_y}, width);
    y = beside ? y + std::max(left, right) : bars_y + right;
  } else {
    y += draw_wrapped(list, {min.x, y}, in(type.body, theme.communication), as_sentence(study->refused),
                      size.x) +
         context.px(12);
  }
  const std::string basis = fmt::format(
      "Estimated on {}: {}. One layer of {}, {}, batch {} × sequence {}, forward and backward; nothing "
      "overlaps. The chart changes only the width and its heads.",
      study->predicted_on, study->basis, s.model.title, to_string(s.dtype), s.batch, s.seq);
  const float foot = wrapped_height(type.note, basis, size.x);
  const float chart = std::max(context.px(150), min.y + size.y - y - foot - context.px(20));
  if (!study->by_hidden.empty()) {
    draw_chart(context, "break-even chart", chart_of(context, *study), {min.x, y + context.px(6)},
               {size.x, chart});
    y += chart + context.px(12);
  }
  y += draw_wrapped(list, {min.x, y}, type.note, basis, size.x);
  copyable_table("break-even", min, {min.x + size.x, y}, [&] { return copied(*study); });
  ImGui::SetCursorScreenPos(min);
  ImGui::Dummy({size.x, y - min.y});
}

}  // namespace shardlens::ui
