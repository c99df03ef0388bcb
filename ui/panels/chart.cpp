// Charts: see chart.h.
#include "ui/panels/chart.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "ui/panels/parts.h"
#include "ui/widgets/axis.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/label_places.h"

namespace shardlens::ui {
namespace {

/// The drawing area and the two scales.
struct Frame {
  ImVec2 min, max;
  double x_low, x_high, y_low, y_high;
  bool log_y;

  float x(double value) const {
    const float inset = (max.x - min.x) * 0.05f;
    const double share =
        x_high > x_low ? std::log(std::max(value, 1e-30) / x_low) / std::log(x_high / x_low) : 0.5;
    return min.x + inset + static_cast<float>(share) * (max.x - min.x - 2 * inset);
  }
  float y(double value) const {
    const double share = log_y ? log_fraction(value, y_low, y_high)
                               : std::clamp((value - y_low) / (y_high - y_low), -0.05, 1.05);
    return max.y - static_cast<float>(share) * (max.y - min.y);
  }
};

bool is_right_of_middle(const Frame& frame, float x) {
  return x > (frame.min.x + frame.max.x) / 2;
}

float y_title_height(const Context& context, const Chart& chart, float width) {
  return wrapped_height(Type(context).note, chart.y_title, width);
}

void draw_axes(const Context& context, const Chart& chart, const Frame& frame) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (const double tick : chart.y_ticks) {
    const float y = std::round(frame.y(tick)) + 0.5f;
    list->AddLine({frame.min.x, y}, {frame.max.x, y},
                  tick == chart.y_ticks.front() ? theme.line : faded(theme.line, 0.6f), 1);
    draw_text(list, {frame.min.x - context.px(8), y - type.mono_note.size / 2}, type.mono_note,
              chart.y_text(tick), Align::Right);
  }
  std::vector<float> centres, widths;
  for (const double tick : chart.x_ticks) {
    centres.push_back(frame.x(tick));
    widths.push_back(text_width(type.mono_note, chart.x_text(tick)));
  }
  const std::vector<bool> shown = labels_that_fit(centres, widths, context.px(8), {});
  for (size_t i = 0; i < chart.x_ticks.size(); ++i) {
    const float x = std::round(centres[i]) + 0.5f;
    list->AddLine({x, frame.max.y}, {x, frame.max.y + context.px(4)}, theme.line, 1);
    if (shown[i])
      draw_text(list, {centres[i], frame.max.y + context.px(6)}, type.mono_note,
                chart.x_text(chart.x_ticks[i]), Align::Centre);
  }
  draw_text(list, {frame.max.x, frame.max.y + context.px(22)}, type.note, chart.x_title, Align::Right);
  const float title = y_title_height(context, chart, frame.max.x - frame.min.x);
  draw_wrapped(list, {frame.min.x, frame.min.y - title - context.px(6)}, type.note, chart.y_title,
               frame.max.x - frame.min.x);
  if (!chart.x_line) return;
  const float x = std::round(frame.x(*chart.x_line)) + 0.5f;
  draw_dashed_line(list, {x, frame.min.y}, {x, frame.max.y}, theme.dim, 1, context.px(4));
  const bool left = is_right_of_middle(frame, x);
  draw_text(list, {x + (left ? -context.px(6) : context.px(6)), frame.min.y + context.px(2)}, type.note,
            chart.x_line_text, left ? Align::Right : Align::Left);
}

void draw_curve(const Context& context, const ChartCurve& curve, const Frame& frame) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float weight = context.px(2);
  for (size_t i = 1; i < curve.dots.size(); ++i) {
    const ImVec2 from{frame.x(curve.dots[i - 1].x), frame.y(curve.dots[i - 1].y)};
    const ImVec2 to{frame.x(curve.dots[i].x), frame.y(curve.dots[i].y)};
    if (curve.dashed)
      draw_dashed_line(list, from, to, curve.colour, weight, context.px(5));
    else
      list->AddLine(from, to, curve.colour, weight);
  }
  for (const ChartDot& dot : curve.dots) {
    const ImVec2 at{frame.x(dot.x), frame.y(dot.y)};
    if (dot.to) {
      const ImVec2 end{at.x, frame.y(*dot.to)};
      list->AddLine(at, end, faded(curve.colour, 0.6f), context.px(4));
      draw_mark(list, end, curve.mark, context.px(4), curve.colour);
    }
    draw_mark(list, at, curve.mark, context.px(5), curve.colour);
  }
}

/// Draws the figures. They keep clear of each other, of the marks and of the lines. A pale ground behind each
/// keeps it readable where that is not possible.
void draw_labels(const Context& context, const Chart& chart, const Frame& frame) {
  const Type type(context);
  LabelRoom room{
      {{frame.min.x, frame.min.y - context.px(4)}, {frame.max.x + context.px(12), frame.max.y}}, {}, {}};
  if (chart.y_title.empty()) room.bounds.min.y -= type.note.size;
  if (chart.x_line) {
    const float x = frame.x(*chart.x_line);
    room.lines.push_back({{x, frame.min.y}, {x, frame.max.y}});
    const float wide = text_width(type.note, chart.x_line_text) + context.px(8);
    const float left = is_right_of_middle(frame, x) ? x - wide : x;
    room.taken.push_back({{left, frame.min.y}, {left + wide, frame.min.y + type.note.size + context.px(4)}});
  }
  struct Figure {
    std::string text;
    ImU32 colour;
    double value;
  };
  std::vector<Figure> figures;
  std::vector<LabelWish> wishes;
  std::map<double, std::vector<size_t>> places;
  const auto add = [&](const ChartCurve& curve, double x, double y, const std::string& text) {
    const ImVec2 at{frame.x(x), frame.y(y)};
    if (curve.mark != DotMark::None) {
      const float half = context.px(6);
      room.taken.push_back({{at.x - half, at.y - half}, {at.x + half, at.y + half}});
    }
    if (text.empty()) return;
    places[x].push_back(wishes.size());
    const TextStyle style{context.fonts.bold, type.note.size, curve.colour};
    wishes.push_back({at, {text_width(style, text), style.size}, 1});
    figures.push_back({text, curve.colour, y});
  };
  for (const ChartCurve& curve : chart.curves) {
    for (size_t i = 0; i < curve.dots.size(); ++i) {
      const ChartDot& dot = curve.dots[i];
      const ImVec2 at{frame.x(dot.x), frame.y(dot.y)};
      if (i > 0) room.lines.push_back({{frame.x(curve.dots[i - 1].x), frame.y(curve.dots[i - 1].y)}, at});
      add(curve, dot.x, dot.y, dot.label);
      if (!dot.to) continue;
      room.lines.push_back({at, {at.x, frame.y(*dot.to)}});
      add(curve, dot.x, *dot.to, dot.to_label);
    }
  }
  for (const auto& [x, at_x] : places) {
    std::vector<double> values;
    for (const size_t i : at_x) values.push_back(figures[i].value);
    const std::vector<int> sides = label_sides(values);
    for (size_t i = 0; i < at_x.size(); ++i) wishes[at_x[i]].prefers = sides[i];
  }
  const std::vector<ImVec2> corners = place_labels(wishes, room, context.px(8));
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImU32 ground = faded(context.theme.window, 0.75f);
  for (size_t i = 0; i < figures.size(); ++i) {
    const ImVec2 min = corners[i], size = wishes[i].size;
    fill_rect(list, {min.x - context.px(1), min.y}, {min.x + size.x + context.px(1), min.y + size.y}, ground);
  }
  for (size_t i = 0; i < figures.size(); ++i)
    draw_text(list, corners[i], {context.fonts.bold, type.note.size, figures[i].colour}, figures[i].text);
}

void draw_tooltip(const Context& context, const char* id, const Chart& chart, const Frame& frame) {
  ImGui::SetCursorScreenPos(frame.min);
  ImGui::InvisibleButton(
      id, {std::max(1.0f, frame.max.x - frame.min.x), std::max(1.0f, frame.max.y - frame.min.y)});
  if (!ImGui::IsItemHovered()) return;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const ChartDot* nearest = nullptr;
  float least = context.px(20);
  for (const ChartCurve& curve : chart.curves) {
    for (const ChartDot& dot : curve.dots) {
      const float distance = std::hypot(frame.x(dot.x) - mouse.x, frame.y(dot.y) - mouse.y);
      if (distance >= least || dot.tooltip.empty()) continue;
      least = distance;
      nearest = &dot;
    }
  }
  if (nearest != nullptr) show_tooltip(context, nearest->tooltip);
}

}  // namespace

std::vector<int> label_sides(const std::vector<double>& values) {
  std::vector<int> sides(values.size(), 0);
  if (values.empty()) return sides;
  const auto highest = std::max_element(values.begin(), values.end());
  sides[static_cast<size_t>(highest - values.begin())] = 1;
  if (values.size() == 1) return sides;
  size_t lowest = highest == values.begin() ? 1 : 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (sides[i] == 0 && values[i] <= values[lowest]) lowest = i;
  }
  sides[lowest] = -1;
  return sides;
}

void draw_mark(ImDrawList* list, ImVec2 centre, DotMark mark, float radius, ImU32 colour) {
  const float r = radius;
  switch (mark) {
    case DotMark::None:
      return;
    case DotMark::Diamond:
      list->AddQuadFilled({centre.x, centre.y - 1.25f * r}, {centre.x + 1.25f * r, centre.y},
                          {centre.x, centre.y + 1.25f * r}, {centre.x - 1.25f * r, centre.y}, colour);
      return;
    case DotMark::Circle:
      list->AddCircle(centre, r, colour, 0, std::max(1.5f, 0.4f * r));
      return;
    case DotMark::Triangle:
      list->AddTriangleFilled({centre.x, centre.y - 1.2f * r}, {centre.x + 1.2f * r, centre.y + r},
                              {centre.x - 1.2f * r, centre.y + r}, colour);
      return;
  }
}

void draw_chart(const Context& context, const char* id, const Chart& chart, ImVec2 min, ImVec2 size) {
  const float left = min.x + context.px(52), right = min.x + size.x - context.px(12);
  const float title = y_title_height(context, chart, right - left);
  const float head = chart.y_title.empty() ? context.px(6) : title + context.px(10);
  Frame frame{{left, min.y + head},
              {right, min.y + size.y - context.px(40)},
              chart.x_ticks.front(),
              chart.x_ticks.back(),
              chart.y_ticks.front(),
              chart.y_ticks.back(),
              chart.log_y};
  if (frame.max.y - frame.min.y < context.px(40) || frame.max.x - frame.min.x < context.px(80)) return;
  draw_axes(context, chart, frame);
  for (const ChartCurve& curve : chart.curves) draw_curve(context, curve, frame);
  draw_labels(context, chart, frame);
  draw_tooltip(context, id, chart, frame);
}

}  // namespace shardlens::ui
