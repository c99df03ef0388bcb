// Draws the comparison of splits. Bars share one scale, so that their lengths can be compared.
#include <fmt/format.h>
#include <algorithm>
#include <string>

#include "engine/runtime/snapshot.h"
#include "ui/panels/parts.h"
#include "ui/panels/traffic/traffic_parts.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

TextTable copied(const std::vector<SplitCost>& splits) {
  TextTable table{{{"split"},
                   {"each rank sends, planned", Align::Right},
                   {"each rank computes, planned", Align::Right},
                   {"each rank holds, planned", Align::Right},
                   {"refused"}},
                  {}};
  for (const SplitCost& split : splits) {
    const bool known = split.refused.empty();
    table.rows.push_back({split.split.name, known ? bytes_text(static_cast<double>(split.sent_bytes)) : "",
                          known ? format_flop_count(static_cast<double>(split.flops)) : "",
                          known ? bytes_text(static_cast<double>(split.arena_bytes)) : "", split.refused});
  }
  return table;
}

}  // namespace

float draw_splits(const Context& context, const std::vector<SplitCost>& splits, ImVec2 at, float width) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Settings& settings = context.snapshot.plan->program.settings;
  int64_t most = 1;
  for (const SplitCost& split : splits) most = std::max(most, split.sent_bytes);
  const bool wide = width > context.px(860);
  const float row = context.px(28), name_width = context.px(132), right = at.x + width - context.px(8);
  const float memory_x = right, flops_x = wide ? memory_x - context.px(112) : memory_x;
  const float sent_x = wide ? flops_x - context.px(112) : memory_x;
  const float bar_x = at.x + name_width, bar_width = sent_x - context.px(96) - bar_x;
  // A whole model is compared by one of its layers, because all are the same.
  const char* what = settings.block == Block::Model   ? "One of its layers"
                     : settings.block == Block::Layer ? "The same layer"
                     : settings.block == Block::Mlp   ? "The same MLP"
                                                      : "The same attention";
  draw_text(list, at, type.strong, fmt::format("{}, cut in other ways at T = {}", what, settings.tp));
  const float head_y = at.y + context.px(3);
  draw_text(list, {sent_x, head_y}, type.note, "each rank sends", Align::Right);
  if (wide) {
    draw_text(list, {flops_x, head_y}, type.note, "computes", Align::Right);
    draw_text(list, {memory_x, head_y}, type.note, "holds", Align::Right);
  }
  float y = at.y + context.px(28);
  for (const SplitCost& split : splits) {
    const bool is_it = split.split == settings.split;
    ImGui::SetCursorScreenPos({at.x - context.px(8), y});
    ImGui::PushID("splits");
    const bool clicked = click_area(split.split.name.c_str(), {width + context.px(8), row});
    const bool hovered = ImGui::IsItemHovered();
    ImGui::PopID();
    if (clicked && !is_it && split.refused.empty()) {
      Settings wanted = context.wanted();
      wanted.split = split.split;
      context.want(wanted);
    }
    if (is_it || hovered)
      fill_rect(list, {at.x - context.px(8), y}, {right + context.px(8), y + row},
                is_it ? faded(theme.forward, 0.14f) : theme.card, context.px(4));
    const float text_y = y + (row - type.body.size) / 2;
    draw_text(list, {at.x, text_y}, is_it ? type.strong : in(type.body, hovered ? theme.text : theme.dim),
              split.split.name);
    if (!split.refused.empty()) {
      draw_text(list, {bar_x, text_y}, type.note, fitted(type.note, split.refused, right - bar_x));
      y += row;
      continue;
    }
    const float bar_y = y + context.px(6), bar_end = y + row - context.px(6);
    float x = bar_x;
    for (const Meeting& meeting : split.meetings) {
      const float end = x + bar_width * static_cast<float>(meeting.sent_bytes) / static_cast<float>(most);
      const bool forward = meeting.phase == Phase::Forward;
      fill_rect(list, {x, bar_y}, {std::max(x + 1, end - 1), bar_end},
                faded(theme.communication, is_it ? 0.95f : 0.55f));
      fill_rect(list, {x, bar_end}, {std::max(x + 1, end - 1), bar_end + context.px(2.5f)},
                forward ? theme.forward : theme.backward);
      const TextStyle letter =
          in(type.mono_note, is_it ? legible_on(theme, theme.communication) : theme.text);
      if (text_width(letter, meeting.symbol) + context.px(6) < end - x)
        draw_text(list, {(x + end) / 2, (bar_y + bar_end - letter.size) / 2}, letter, meeting.symbol,
                  Align::Centre);
      x = end;
    }
    if (split.meetings.empty())
      draw_text(list, {bar_x, text_y}, type.note, "nothing to send: every rank does all the work");
    const float mono_y = y + (row - type.mono.size) / 2;
    const TextStyle figures = is_it ? type.mono : in(type.mono, theme.dim);
    draw_text(list, {sent_x, mono_y}, figures, bytes_text(static_cast<double>(split.sent_bytes)),
              Align::Right);
    if (wide) {
      draw_text(list, {flops_x, mono_y}, figures, format_flop_count(static_cast<double>(split.flops)),
                Align::Right);
      draw_text(list, {memory_x, mono_y}, figures, bytes_text(static_cast<double>(split.arena_bytes)),
                Align::Right);
    }
    y += row;
  }
  copyable_table("cut in other ways", at, {right, y}, [&] { return copied(splits); });
  draw_text(
      list, {at.x, y + context.px(4)}, type.note,
      fitted(type.note,
             "Planned and counted per rank, not run. Edge: forward or backward. Click a split to run it.",
             width));
  return y + context.px(24) - at.y;
}

}  // namespace shardlens::ui
