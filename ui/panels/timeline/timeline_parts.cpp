// The parts of tracks. They are the same for a run and for a whole recording.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ui/panels/timeline/timeline.h"
#include "ui/theme/phase_colour.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {

TrackPart part_of_track(Lane lane, float top, float height) {
  constexpr float kStrip = 0.25f;
  return {lane == Lane::Overlapped ? std::round(top + (1 - kStrip) * height) : top, top + height};
}

void draw_rank_name(const Context& context, ImVec2 left_top, float height, size_t rank) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const bool selected = context.view.selected_rank == static_cast<int>(rank);
  const TextStyle text = timeline_text(context, selected ? context.fonts.bold : context.fonts.body,
                                       kSmallSize, context.theme.text);
  const auto [left, top] = left_top;
  const float inset = std::min(context.px(6), height * 0.15f);
  fill_rect(list, {left, top + inset}, {left + context.px(4), top + height - inset},
            context.theme.ranks[rank % 8], context.px(1));
  draw_text(list, {left + context.px(12), top + (height - text.size) / 2}, text,
            fmt::format("rank {}", rank));
}

void point_at_rank_name(const Context& context, int rank, bool clicked) {
  if (clicked) select_rank_or_all(context.view, rank);
  tooltip(context, context.view.selected_rank == rank
                       ? fmt::format("Rank {} is selected. Click: all ranks again", rank)
                       : fmt::format("Click to select rank {}", rank));
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
  // At the end of the axis the head moves to the left of the line, so that no half of it is outside.
  const float head = std::round(std::min(x, edge - wide));
  x = std::round(std::min(x, edge - context.px(1.5f)));
  fill_triangle(list, {head - wide, top - wide}, {head + wide, top - wide}, {x, top + context.px(2)},
                context.theme.text);
  draw_line(list, {x, top}, {x, bottom}, context.theme.text, std::max(1.0f, context.px(1.5f)));
}

namespace {

/// What a colour means. In little room the overlapped steps go first, because their tooltip explains them,
/// and then the phases, whose colours the Stage has too.
enum class Tells { Phase, Meeting, Overlapped, Wrong };

/// A colour of the tracks and its words.
struct Kind {
  const char* words;
  ImU32 colour;
  Tells tells;
};

ImU32 computed(const Theme& theme, Phase phase) {
  return mixed(theme.panel, phase_colour(theme, phase), kComputeTint);
}

/// The kinds that occur in the Program, and the line along wrong values if a broken run is shown.
std::vector<Kind> legend_kinds(const Context& context, const Program& program) {
  const Theme& theme = context.theme;
  const auto any = [&](const auto& is) {
    return std::any_of(program.steps.begin(), program.steps.end(), is);
  };
  std::vector<Kind> kinds;
  constexpr std::array<std::pair<Phase, const char*>, 3> kPhases{
      {{Phase::Forward, "forward"}, {Phase::Backward, "backward"}, {Phase::Update, "update"}}};
  for (const auto& [phase, words] : kPhases)
    if (any([phase](const Step& step) { return step.phase == phase; }))
      kinds.push_back({words, computed(theme, phase), Tells::Phase});
  if (any([](const Step& step) { return is_collective(step.op); })) {
    kinds.push_back({"transfer", faded(theme.communication, kTransferTint), Tells::Meeting});
    kinds.push_back({"waiting", faded(theme.communication, kWaitingTint), Tells::Meeting});
  }
  if (any([](const Step& step) { return step.overlapped; }))
    kinds.push_back({"overlapped", faded(theme.communication, kTransferTint), Tells::Overlapped});
  if (const auto seen = seen_break(context); seen && seen->side() != BreakSide::Sound)
    kinds.push_back({"wrong values", theme.text, Tells::Wrong});
  return kinds;
}

std::vector<Kind> only(std::vector<Kind> kinds, std::initializer_list<Tells> kept) {
  std::erase_if(kinds, [kept](const Kind& kind) {
    return std::find(kept.begin(), kept.end(), kind.tells) == kept.end();
  });
  return kinds;
}

constexpr float kSwatch = 12, kBesideSwatch = 6, kBetweenKinds = 16;

TextStyle legend_style(const Context& context) {
  return timeline_text(context, context.fonts.body, kSmallSize, context.theme.dim);
}

float kind_width(const Context& context, const Kind& kind) {
  return context.px(kSwatch + kBesideSwatch + kBetweenKinds) + text_width(legend_style(context), kind.words);
}

float legend_width(const Context& context, const std::vector<Kind>& kinds) {
  float width = -context.px(kBetweenKinds);
  for (const Kind& kind : kinds) width += kind_width(context, kind);
  return std::max(width, 0.0f);
}

}  // namespace

LegendWidths legend_widths(const Context& context, const Program& program) {
  const std::vector<Kind> kinds = legend_kinds(context, program);
  return {.whole = legend_width(context, kinds),
          .with_phases = legend_width(context, only(kinds, {Tells::Phase, Tells::Meeting, Tells::Wrong})),
          .least = legend_width(context, only(kinds, {Tells::Meeting, Tells::Wrong}))};
}

void draw_legend(const Context& context, const Program& program, float left, float right, float middle) {
  const Theme& theme = context.theme;
  const TextStyle style = legend_style(context);
  const float swatch = context.px(kSwatch);
  std::vector<Kind> shown = legend_kinds(context, program);
  const auto fits = [&] { return legend_width(context, shown) <= right - left; };
  if (!fits()) shown = only(shown, {Tells::Phase, Tells::Meeting, Tells::Wrong});
  if (!fits()) shown = only(shown, {Tells::Meeting, Tells::Wrong});
  if (!fits()) return;
  ImDrawList* list = ImGui::GetWindowDrawList();
  float x = std::round(right - legend_width(context, shown));
  for (const Kind& kind : shown) {
    const bool beside = kind.tells == Tells::Overlapped;
    const auto [top, bottom] =
        part_of_track(beside ? Lane::Overlapped : Lane::Own, std::round(middle - swatch / 2), swatch);
    if (beside)  // over what a rank computes meanwhile
      fill_rect(list, {x, bottom - swatch}, {x + swatch, bottom}, computed(theme, Phase::Backward),
                context.px(2));
    if (kind.tells == Tells::Wrong)
      draw_torn_line(list, {x, middle}, {x + swatch, middle}, kind.colour, std::max(1.0f, context.px(1.5f)),
                     context.px(3));
    else
      fill_rect(list, {x, top}, {x + swatch, bottom}, kind.colour, context.px(beside ? 1 : 2));
    draw_text(list, {x + swatch + context.px(kBesideSwatch), middle - style.size / 2}, style, kind.words);
    x += kind_width(context, kind);
  }
}

// An empty outline with a label, because the rank did nothing in this time.
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
  const std::string forms[] = {"late by " + format_seconds(held_seconds), "late"};
  draw_text(list, {from + context.px(6), (min.y + max.y - text.size) / 2}, text,
            longest_fitting(text, forms, room));
}

}  // namespace shardlens::ui
