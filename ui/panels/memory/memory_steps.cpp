// Memory over the steps of one pass: the planned bytes that are live while each step runs, and above them a
// line for the most that the arenas have held so far, as measured.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "engine/runtime/snapshot.h"
#include "ui/panels/memory/memory_pages.h"
#include "ui/panels/parts.h"
#include "ui/widgets/format.h"
#include "ui/widgets/stretch.h"
#include "ui/widgets/within.h"

namespace shardlens::ui {
namespace {

/// Draws a line over the steps: the most that the rank's arenas together have held so far, as measured.
void draw_marks(const Context& context, size_t rank, ImVec2 origin, float slot, float scale) {
  const Snapshot& snapshot = context.snapshot;
  if (!snapshot.result || snapshot.stale() || rank >= snapshot.result->events.size()) return;
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const std::vector<StepEvent>& events = snapshot.result->events[rank];
  if (events.empty() || total_bytes(events.back().high_water_bytes) == 0) return;  // not in a recording
  std::vector<ImVec2> line;
  for (size_t i = 0; i < events.size(); ++i) {
    const double bytes = static_cast<double>(total_bytes(events[i].high_water_bytes));
    const float y = std::round(origin.y - static_cast<float>(bytes) * scale);
    line.push_back({origin.x + slot * static_cast<float>(i), y});
    line.push_back({origin.x + slot * static_cast<float>(i + 1), y});
  }
  if (line.empty()) return;
  list->AddPolyline(line.data(), static_cast<int>(line.size()), context.theme.text, context.px(1.5f));
  const std::string label = bytes_text(static_cast<double>(total_bytes(events.back().high_water_bytes))) +
                            ": the most so far of each kind, together, measured";
  draw_text(list, {line.back().x, line.back().y + context.px(6)}, in(type.note, context.theme.text), label,
            Align::Right);
}

}  // namespace

void draw_live_bytes(const Context& context, ImVec2 min, ImVec2 size) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Plan& plan = *context.snapshot.plan;
  const size_t rank = explained_rank(context);
  const std::vector<BytesByKind>& live = plan.memory[rank].live_bytes;
  if (live.empty()) return;
  size_t peak = 0;
  for (size_t i = 0; i < live.size(); ++i)
    if (total_bytes(live[i]) > total_bytes(live[peak])) peak = i;
  const double held = static_cast<double>(total_bytes(live[peak]));
  const double top = std::max<double>(1, static_cast<double>(total_bytes(plan.memory[rank].arena_bytes)));
  const ByteUnit unit = unit_for(top);
  const std::string title = "Over one forward and backward pass";
  draw_text(list, min, type.strong, title);
  const Step& fullest = plan.program.steps[peak];
  const std::string says =
      fmt::format("most at step {}, {}: {} held on rank {}, planned", peak,
                  fullest.equation.empty() ? fullest.name : fullest.equation, bytes_text(held), rank);
  draw_text(list, {min.x + size.x, min.y + context.px(2)}, type.note,
            fitted(type.note, says, size.x - text_width(type.strong, title) - context.px(16)), Align::Right);

  const float axis = context.px(48);
  const ImVec2 plot_min(min.x + axis, min.y + context.px(34)),
      plot_max(min.x + size.x, min.y + size.y - context.px(22));
  const float scale = (plot_max.y - plot_min.y) / static_cast<float>(top * 1.06);
  for (double tick : round_ticks(Stretch{0, top * 1.06 / unit.bytes},
                                 std::max(2, static_cast<int>(size.y / context.px(60))))) {
    const float y = std::round(plot_max.y - static_cast<float>(tick * unit.bytes) * scale) + 0.5f;
    list->AddLine({plot_min.x, y}, {plot_max.x, y}, tick > 0 ? faded(theme.line, 0.6f) : theme.line, 1);
    std::array<char, 40> label{};
    std::snprintf(label.data(), label.size(), "%g", std::abs(tick));
    draw_text(list, {plot_min.x - context.px(8), y - type.mono_note.size / 2}, type.mono_note, label.data(),
              Align::Right);
  }
  const float slot = (plot_max.x - plot_min.x) / static_cast<float>(live.size());
  auto x_of = [&](size_t step) { return std::round(plot_min.x + slot * static_cast<float>(step)); };

  ImGui::SetCursorScreenPos(plot_min);
  const bool clicked =
      ImGui::InvisibleButton("live bytes", {plot_max.x - plot_min.x, plot_max.y - plot_min.y});
  const bool hovered = ImGui::IsItemHovered();
  const size_t under = static_cast<size_t>(
      std::clamp((ImGui::GetIO().MousePos.x - plot_min.x) / slot, 0.0f, static_cast<float>(live.size() - 1)));
  if (clicked) select_step(context.view, plan.program, static_cast<StepId>(under));

  const StepId selected_step = selection_in(context.view, plan.program).step;
  size_t first_backward = live.size();
  for (size_t i = 0; i < live.size(); ++i) {
    if (plan.program.steps[i].phase == Phase::Backward) first_backward = std::min(first_backward, i);
    float below = plot_max.y;
    double sum = 0;
    const bool selected = static_cast<StepId>(i) == selected_step;
    for (MemoryKind kind : kStackOrder) {
      if (bytes_of(live[i], kind) == 0) continue;
      sum += static_cast<double>(bytes_of(live[i], kind));
      const float above = plot_max.y - static_cast<float>(sum) * scale;
      fill_rect(list, {x_of(i), above}, {x_of(i + 1), below},
                faded(kind_colour(theme, kind), selected ? 1.0f : 0.72f));
      below = above;
    }
    if (selected || (hovered && i == under))
      outline_rect(list, {x_of(i), below - 1}, {x_of(i + 1), plot_max.y}, selected ? theme.text : theme.dim,
                   0, context.px(1.5f));
  }
  draw_marks(context, rank, {plot_min.x, plot_max.y}, slot, scale);
  const float middle = x_of(first_backward);
  if (first_backward > 0 && first_backward < live.size())
    draw_dashed_line(list, {middle, plot_min.y}, {middle, plot_max.y}, theme.dim, 1, context.px(4));
  const float label_y = plot_max.y + context.px(5);
  draw_text(list, {plot_min.x, label_y}, in(type.note, theme.forward), "forward");
  if (first_backward < live.size())
    draw_text(list, {plot_max.x, label_y}, in(type.note, theme.backward), "backward", Align::Right);
  if (const auto selected = static_cast<size_t>(selected_step);
      selected_step >= 0 && selected < live.size()) {
    const float x = (x_of(selected) + x_of(selected + 1)) / 2;
    const std::string name = "step " + std::to_string(selected) + " · " + plan.program.steps[selected].name +
                             " · " + bytes_text(static_cast<double>(total_bytes(live[selected])));
    const float half = text_width(type.note, name) / 2;
    const float low = plot_min.x + text_width(type.note, "forward") + context.px(12) + half;
    const float high = plot_max.x - text_width(type.note, "backward") - context.px(12) - half;
    if (low < high)
      draw_text(list, {within(x, low, high), label_y}, in(type.note, theme.text), name, Align::Centre);
  }
  if (hovered && ImGui::BeginTooltip()) {
    ImGui::Text("step %zu, %s", under, plan.program.steps[under].name.c_str());
    for (MemoryKind kind : kStackOrder)
      if (bytes_of(live[under], kind) > 0)
        ImGui::Text("%12s  %s", bytes_text(static_cast<double>(bytes_of(live[under], kind))).c_str(),
                    to_string(kind).c_str());
    ImGui::EndTooltip();
  }
}

}  // namespace shardlens::ui
