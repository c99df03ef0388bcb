// What tracks are drawn with, of a run and of a whole recording alike.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>

#include "ui/panels/timeline/timeline.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {

TrackPart part_of_track(Lane lane, float top, float height) {
  constexpr float kStrip = 0.25f;
  return {lane == Lane::Beside ? std::round(top + (1 - kStrip) * height) : top, top + height};
}

void draw_rank_name(const Context& context, ImVec2 left_top, float height, size_t rank) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const TextStyle text = timeline_text(context, context.fonts.body, kSmallSize, context.theme.text);
  const auto [left, top] = left_top;
  const float inset = std::min(context.px(6), height * 0.15f);
  fill_rect(list, {left, top + inset}, {left + context.px(4), top + height - inset},
            context.theme.ranks[rank % 8], context.px(1));
  draw_text(list, {left + context.px(12), top + (height - text.size) / 2}, text,
            fmt::format("rank {}", rank));
}

void draw_axis_tick(const Context& context, float x, float top, float bottom, float right,
                    const std::string& name, std::span<const float> marks) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const TextStyle style = timeline_text(context, context.fonts.body, kSmallSize, context.theme.dim);
  x = std::round(x);
  draw_line(list, {x, top + context.px(4)}, {x, bottom}, context.theme.ghost, std::max(1.0f, context.px(1)));
  const float begin = x + context.px(6), end = begin + text_width(style, name),
              half = context.px(kPlayheadWide);
  const bool covered = std::any_of(marks.begin(), marks.end(),
                                   [&](float mark) { return mark + half > begin && mark - half < end; });
  if (end < right && !covered) draw_text(list, {begin, top + context.px(2)}, style, name);
}

void draw_playhead_at(const Context& context, float x, float top, float bottom) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float wide = context.px(kPlayheadWide), edge = list->GetClipRectMax().x;
  // At the end of the axis its head stands left of the line, not half outside.
  const float head = std::round(std::min(x, edge - wide));
  x = std::round(std::min(x, edge - context.px(1.5f)));
  fill_triangle(list, {head - wide, top - wide}, {head + wide, top - wide}, {x, top + context.px(2)},
                context.theme.text);
  draw_line(list, {x, top}, {x, bottom}, context.theme.text, std::max(1.0f, context.px(1.5f)));
}

namespace {

/// A colour of the tracks and its words.
struct Kind {
  const char* words;
  ImU32 colour;
  Lane lane = Lane::Own;
};

std::array<Kind, 5> legend_kinds(const Theme& theme) {
  return {{{"forward", mixed(theme.panel, theme.forward, kComputeTint)},
           {"backward", mixed(theme.panel, theme.backward, kComputeTint)},
           {"transfer", faded(theme.communication, kTransferTint)},
           {"waiting", faded(theme.communication, kWaitingTint)},
           {"beside the steps", faded(theme.communication, kTransferTint), Lane::Beside}}};
}

constexpr float kSwatch = 12, kBesideSwatch = 6, kBetweenKinds = 16;
// Where room is short: an all-reduce's two shades are told apart nowhere else.
constexpr size_t kFirstOfLeast = 2, kLeast = 2;

TextStyle legend_style(const Context& context) {
  return timeline_text(context, context.fonts.body, kSmallSize, context.theme.dim);
}

float kind_width(const Context& context, const Kind& kind) {
  return context.px(kSwatch + kBesideSwatch + kBetweenKinds) + text_width(legend_style(context), kind.words);
}

float legend_width(const Context& context, std::span<const Kind> kinds) {
  float width = -context.px(kBetweenKinds);
  for (const Kind& kind : kinds) width += kind_width(context, kind);
  return width;
}

}  // namespace

float least_legend_width(const Context& context) {
  const auto all = legend_kinds(context.theme);
  return legend_width(context, std::span(all).subspan(kFirstOfLeast, kLeast));
}

void draw_legend(const Context& context, float left, float right, float middle) {
  const auto all = legend_kinds(context.theme);
  const TextStyle style = legend_style(context);
  const float swatch = context.px(kSwatch);
  // What is beside the steps is told by the mouse too, and the passes by their colours on the Stage.
  const std::span<const Kind> every(all);
  std::span<const Kind> shown = every;
  for (const std::span<const Kind> fewer : {every.first(4), every.subspan(kFirstOfLeast, kLeast)})
    if (legend_width(context, shown) > right - left) shown = fewer;
  const float width = legend_width(context, shown);
  if (width > right - left) return;
  ImDrawList* list = ImGui::GetWindowDrawList();
  float x = std::round(right - width);
  for (const Kind& kind : shown) {
    const auto [top, bottom] = part_of_track(kind.lane, std::round(middle - swatch / 2), swatch);
    if (kind.lane == Lane::Beside)  // below what a rank computes meanwhile
      fill_rect(list, {x, bottom - swatch}, {x + swatch, bottom}, all[1].colour, context.px(2));
    fill_rect(list, {x, top}, {x + swatch, bottom}, kind.colour, context.px(kind.lane == Lane::Own ? 2 : 1));
    draw_text(list, {x + swatch + context.px(kBesideSwatch), middle - style.size / 2}, style, kind.words);
    x += kind_width(context, kind);
  }
}

// An outline with what it is, and nothing in it, for nothing was done.
void draw_hold(const Context& context, ImVec2 min, ImVec2 max, ImVec2 shown, double held_seconds) {
  max.x = std::max(max.x, min.x + context.px(2));
  if (max.x < shown.x || min.x > shown.y) return;
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_dashed_rect(list, {min.x, min.y + context.px(1)}, {max.x - context.px(1), max.y - context.px(1)},
                   context.theme.communication, std::max(1.0f, context.px(1.5f)), context.px(4));
  const TextStyle text = timeline_text(context, context.fonts.body, kSmallSize, context.theme.communication);
  if (max.y - min.y < text.size) return;
  const float from = std::max(min.x, shown.x);
  const float room = std::min(max.x, shown.y) - from - context.px(12);
  for (const std::string& label : {"late by " + format_seconds(held_seconds), std::string("late")}) {
    if (text_width(text, label) > room) continue;
    draw_text(list, {from + context.px(6), (min.y + max.y - text.size) / 2}, text, label);
    break;
  }
}

}  // namespace shardlens::ui
