// The Traffic tab's collectives in front of a class: a bar for each, as long as the bytes that a rank sends,
// in type that is read from the last row. Steps that send nothing, reasons and times are left out.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "engine/runtime/snapshot.h"
#include "ui/panels/memory/memory_figures.h"
#include "ui/panels/parts.h"
#include "ui/panels/traffic/traffic_parts.h"
#include "ui/plan/shown_plan.h"

namespace shardlens::ui {
namespace {

constexpr float kRow = 56, kBar = 10;

/// Where the columns begin or end, in pixels.
struct ClassColumns {
  float mark, text, bar, right;
};

void draw_class_row(const Context& context, const TrafficRow& row, const ClassColumns& columns, float top,
                    int64_t most) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (row.conjugate != Conjugate::None) {
    const TextStyle mark{context.fonts.italic, context.px(kBodySize * 1.3f), theme.communication};
    draw_text(list, {columns.mark, top + context.px(4)}, mark, row.conjugate == Conjugate::F ? "f" : "g",
              Align::Centre);
  }
  const float first = top + context.px(8), second = first + type.strong.size + context.px(6);
  const float room = columns.bar - columns.text - context.px(16);
  draw_text(list, {columns.text, first}, in(type.strong, theme.communication), to_string(row.op));
  const float symbol = text_width(type.strong, to_string(row.op)) + context.px(10);
  draw_text(list, {columns.text + symbol, first}, type.mono, fitted(type.mono, row.symbol, room - symbol));
  draw_text(list, {columns.text, second}, type.note,
            fitted(type.note, fmt::format("{} → {}", to_string(row.from), to_string(row.to)), room));
  draw_text(list, {columns.bar, first}, in(type.strong, theme.text),
            bytes_text(static_cast<double>(row.sent_bytes)));
  draw_text(list, {columns.right, first + context.px(1)}, type.mono_note,
            fitted(type.mono_note, row.formula, (columns.right - columns.bar) * 0.7f), Align::Right);
  const float share = static_cast<float>(row.sent_bytes) / static_cast<float>(std::max<int64_t>(most, 1));
  const float bar = second + context.px(2);
  fill_rect(list, {columns.bar, bar}, {columns.right, bar + context.px(kBar)}, theme.card, context.px(2));
  fill_rect(
      list, {columns.bar, bar},
      {columns.bar + std::max(context.px(2), (columns.right - columns.bar) * share), bar + context.px(kBar)},
      theme.communication, context.px(2));
}

}  // namespace

float draw_rows_in_class(const Context& context, const std::vector<TrafficRow>& rows,
                         const std::string& title, ImVec2 at, float width) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ClassColumns columns{at.x + context.px(20), at.x + context.px(36), at.x + std::round(width * 0.46f),
                             at.x + width - context.px(8)};
  int64_t most = 0, quiet = 0;
  for (const TrafficRow& row : rows) {
    most = std::max(most, row.sent_bytes);
    quiet += row.sends() ? 0 : 1;
  }
  draw_text(list, at, type.strong, fitted(type.strong, title, columns.bar - at.x));
  draw_text(list, {columns.bar, at.y}, type.note, "each rank sends");
  float y = at.y + type.strong.size + context.px(8);
  const Program& program = context.snapshot.plan->program;
  const StepId selected_step = selection_in(context.view, program).step;
  for (const TrafficRow& row : rows) {
    if (!row.sends()) continue;
    draw_step_row(context, "conversions", program.step(row.step), row.step == selected_step, {at.x, y},
                  {width, context.px(kRow)});
    draw_class_row(context, row, columns, y, most);
    y += context.px(kRow + 3);
  }
  if (quiet > 0) {
    draw_text(list, {columns.text, y + context.px(4)}, type.note,
              fmt::format("{} more {} layouts and {} nothing.", quiet,
                          quiet == 1 ? "step changes" : "steps change", quiet == 1 ? "sends" : "send"));
    y += type.note.size + context.px(10);
  }
  return y - at.y;
}

}  // namespace shardlens::ui
