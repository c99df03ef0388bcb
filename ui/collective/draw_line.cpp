// Draws the buttons that play the hops, and the line of hops: a tick for each state, the hops as the
// stretches between them, and under each tick a picture of the whole table.
#include <fmt/format.h>
#include <icons_font_awesome_4.h>

#include <array>
#include <cmath>

#include "ui/collective/inside.h"
#include "ui/collective/parts.h"
#include "ui/commands/commands.h"
#include "ui/panels/parts.h"
#include "ui/widgets/controls.h"

namespace shardlens::ui::collective {
namespace {

using stage::Rect;

constexpr float kButtonSide = 32, kSecondRow = kButtonSide + 12;
constexpr std::array<float, 4> kSpeeds{0.5f, 1, 2, 4};

void transport_button(const Context& context, const char* icon, const char* id, bool accent) {
  const UiCommand& command = find_command(id);
  const float side = context.px(kButtonSide);
  const ImVec2 size{accent ? side * 1.6f : side, side};
  if (click_area(id, size)) command.run(context);
  const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
  const Theme& theme = context.theme;
  const ImU32 ground = accent ? theme.forward : ImGui::IsItemHovered() ? theme.line : theme.card;
  ImDrawList* list = ImGui::GetWindowDrawList();
  fill_rect(list, min, max, ground, context.px(4));
  const TextStyle style{context.fonts.body, context.px(kBodySize), legible_on(theme, ground)};
  draw_text(list, {(min.x + max.x) / 2, (min.y + max.y) / 2 - style.size * 0.56f}, style, icon,
            Align::Centre);
  tooltip(context, title_with_key(command));
}

/// Draws the buttons; returns where they end. In a low window they stand in one row, and what has no room
/// there before `room.max.x` is left out: first the choices' labels, then the speeds, then the forms. In a
/// narrow one the choices have a row of their own.
float draw_buttons(const Context& context, const Inside& inside, const Rect& room, bool low,
                   bool second_row) {
  const Type type(context);
  auto& view = context.view.of<CollectiveView>();
  const float gap = context.px(8);
  ImGui::SetCursorScreenPos({room.min.x, room.min.y + context.px(10)});
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {gap, 0});
  transport_button(context, ICON_FA_FAST_BACKWARD, "walk.first", false);
  ImGui::SameLine();
  transport_button(context, ICON_FA_STEP_BACKWARD, "walk.back", false);
  ImGui::SameLine();
  transport_button(context, view.playing ? ICON_FA_PAUSE : ICON_FA_PLAY, "run.play", true);
  ImGui::SameLine();
  transport_button(context, ICON_FA_STEP_FORWARD, "walk.forward", false);
  ImGui::SameLine();
  transport_button(context, ICON_FA_FAST_FORWARD, "walk.last", false);
  float end = ImGui::GetItemRectMax().x;
  std::vector<Segment> speeds;
  for (const float speed : kSpeeds)
    speeds.push_back({fmt::format("{:g}", speed), fmt::format("Plays {:g} hops per second", speed),
                      view.hops_per_second == speed, true});
  const std::vector<Segment> forms{
      {"ring", "Chunks go round: every rank passes one on in every hop", inside.wiring == Wiring::Ring, true},
      {"tree", "The whole tensor goes up a tree of ranks and down again", inside.wiring == Wiring::Tree,
       true}};
  std::string speed_label = "Hops per second", form_label = "As a";
  bool with_speeds = true, with_forms = inside.has_tree();
  if (second_row) {
    end = room.min.x - gap;
    form_label = "";
  } else if (low) {
    const auto fits = [&] {
      return end + (with_speeds ? gap + segments_width(context, speed_label, speeds) : 0) +
                 (with_forms ? gap + segments_width(context, form_label, forms) : 0) <=
             room.max.x;
    };
    if (!fits()) speed_label = form_label = "";
    if (!fits()) with_speeds = false;
    if (!fits()) with_forms = false;
  }
  if (with_speeds) {
    if (low && !second_row)
      ImGui::SameLine();
    else
      ImGui::SetCursorScreenPos({room.min.x, room.min.y + context.px(10 + kButtonSide + 8)});
    const int speed = draw_segments(context, "speed", speed_label, speeds);
    if (speed >= 0) view.hops_per_second = kSpeeds[static_cast<size_t>(speed)];
    end = std::max(end, ImGui::GetItemRectMax().x);
  }
  if (with_forms) {
    if (low)
      ImGui::SameLine();
    else
      ImGui::SetCursorScreenPos({room.min.x, room.min.y + context.px(10 + 2 * kButtonSide + 14)});
    const int form = draw_segments(context, "as a", form_label, forms);
    if (form >= 0 && (form == 1) != (inside.wiring == Wiring::Tree)) change_wiring(context);
    end = std::max(end, ImGui::GetItemRectMax().x);
  }
  ImGui::PopStyleVar();
  return end;
}

/// Draws the whole table as it is after some hops, small.
void draw_thumbnail(const Context& context, const Inside& inside, int after, const Rect& place) {
  const Theme& theme = context.theme;
  const int chunks = inside.route().chunks;
  const float row = place.height() / static_cast<float>(inside.size());
  const float column = place.width() / static_cast<float>(chunks);
  const float row_gap = row >= 4 ? std::max(1.0f, std::round(row * 0.2f)) : 0;
  const float column_gap = column >= 6   ? std::max(1.0f, std::round(column * 0.12f))
                           : column >= 3 ? 1.0f
                                         : 0.0f;
  const Holdings& held = inside.states->after[static_cast<size_t>(after)];
  const int all = terms_when_complete(inside.route());
  std::vector<PlainRect> rects;
  for (int rank = 0; rank < inside.size(); ++rank)
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const ImVec2 min(place.min.x + column * static_cast<float>(chunk),
                       place.min.y + row * static_cast<float>(rank));
      const ImVec2 max(min.x + column - column_gap, min.y + row - row_gap);
      const int terms = held.terms(rank, chunk);
      const bool complete = is_complete(inside.route(), held, rank, chunk);
      rects.push_back({min, max, complete ? theme.agreement : theme.ghost});
      if (complete || terms == 0) continue;
      const float share = static_cast<float>(terms) / static_cast<float>(all);
      rects.push_back({min, {min.x + (max.x - min.x) * share, max.y}, theme.dim});
    }
  fill_rects(ImGui::GetWindowDrawList(), rects);
}

void draw_ticks(const Context& context, const Inside& inside, const Rect& room, bool low) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  auto& view = context.view.of<CollectiveView>();
  const int hops = inside.hops();
  const float pitch = room.width() / static_cast<float>(hops + 1);
  const auto tick_x = [&](float hop) { return room.min.x + pitch * (hop + 0.5f); };
  const float axis =
      std::round(room.min.y + type.body.size + context.px(21));  // below the words, the playhead too
  // The two parts of an all-reduce, each over its own stretch.
  const int adding = inside.route().adding_hops;
  const auto part = [&](int from, int to) {
    if (from >= to) return;
    const bool is_now = inside.hop > from && inside.hop <= to;
    const std::string words =
        fmt::format("{}: {} hop{}", part_title(inside, to), to - from, to - from == 1 ? "" : "s");
    const float middle = (tick_x(static_cast<float>(from)) + tick_x(static_cast<float>(to))) / 2;
    // It may reach a quarter of a stretch beyond its own, as the words beside it may.
    const TextStyle style = in(is_now ? type.strong : type.body, is_now ? theme.text : theme.dim);
    const float most = pitch * (static_cast<float>(to - from) + 0.5f);
    const std::string shown =
        text_width(style, words) <= most ? words : fitted(style, part_title(inside, to), most);
    draw_text(list, {middle, room.min.y + context.px(4)}, style, shown, Align::Centre);
  };
  part(0, adding);
  part(adding, hops);
  const float thick = std::max(2.0f, context.px(3));
  const float now = inside.hop == 0 ? 0.0f
                    : !inside.under_way()
                        ? static_cast<float>(hops)
                        : static_cast<float>(inside.hop - 1) + (view.playing ? view.under_way : 0.5f);
  fill_rect(list, {tick_x(0), axis - thick / 2}, {tick_x(static_cast<float>(hops)), axis + thick / 2},
            theme.line);
  fill_rect(list, {tick_x(0), axis - thick / 2}, {tick_x(now), axis + thick / 2}, theme.communication);

  const float top = axis + context.px(14);
  const float label = type.note.size + context.px(6);
  const float most_height = room.max.y - top - label - context.px(4);
  const float side = std::min(pitch - context.px(10), context.px(104));
  const bool pictures = !low && most_height >= context.px(14) && side >= context.px(8);
  const float height = std::min(most_height, std::max(context.px(14), side * 0.56f));
  const std::string longest = fmt::format("hop {}", hops);
  const bool words_fit = text_width(type.note, longest) + context.px(6) <= pitch;
  const int every = words_fit || text_width(type.note, "00") + context.px(6) <= pitch ? 1 : 2;
  for (int hop = 0; hop <= hops; ++hop) {
    const float x = std::round(tick_x(static_cast<float>(hop)));
    const bool shown = hop == inside.hop || (hop == hops && inside.hop > hops);
    const float half = context.px(hop == adding || hop == 0 || hop == hops ? 9 : 6);
    fill_rect(list, {x - thick / 2, axis - half}, {x + thick / 2, axis + half},
              static_cast<float>(hop) <= now ? theme.communication : theme.faint);
    const Rect place{{x - side / 2, top}, {x + side / 2, top + height}};
    if (pictures) {
      draw_thumbnail(context, inside, hop, place);
      const float away = context.px(5);
      if (shown)
        draw_dashed_rect(list, {place.min.x - away, place.min.y - away},
                         {place.max.x + away, place.max.y + away}, theme.agreement,
                         std::max(1.0f, context.px(1.5f)), context.px(3));
    }
    const float words_y = pictures ? top + height + context.px(7) : top;
    const std::string words = hop == 0    ? "start"
                              : words_fit ? fmt::format("hop {}", hop)
                                          : std::to_string(hop);
    if (hop % every == 0 || shown)
      draw_text(list, {x, words_y}, in(shown ? type.strong : type.note, shown ? theme.text : theme.dim),
                words, Align::Centre);
    ImGui::SetCursorScreenPos({x - pitch / 2, axis - context.px(12)});
    if (click_area(fmt::format("hop {}", hop).c_str(),
                   {std::max(1.0f, pitch), room.max.y - axis + context.px(8)})) {
      view.playing = false;
      view.stand_at(hop == hops && inside.hop == hops ? hops + 1 : hop);
    }
    if (ImGui::IsItemHovered())
      show_tooltip(context, hop == 0 ? "Before the first hop" : fmt::format("Go to hop {}", hop));
  }
  // The playhead.
  const float x = tick_x(now), wide = context.px(7);
  fill_rect(list, {x - wide, axis - context.px(14)}, {x + wide, axis - context.px(6)}, theme.text,
            context.px(2));
  fill_triangle(list, {x - wide, axis - context.px(7)}, {x + wide, axis - context.px(7)}, {x, axis},
                theme.text);
}

}  // namespace

float line_height(const Context& context, const Inside& inside, float width, bool low) {
  const float second = width < context.px(kNarrowWindow) ? kSecondRow : 0;
  return std::round(context.px(low ? 118 + second : inside.has_tree() ? 140 : 128));
}

void draw_line_of_hops(const Context& context, const Inside& inside, const Rect& room, bool low) {
  if (!inside.drawn()) return;
  const Type type(context);
  auto& view = context.view.of<CollectiveView>();
  const std::string words = view.price_first ? "Hop by hop" : "Price and times";
  const float other = low ? button_width(context, words) + context.px(16) : 0;
  const bool narrow = room.width() < context.px(kNarrowWindow);
  const float end = draw_buttons(context, inside, {room.min, {room.max.x - other, room.max.y}}, low, narrow);
  if (low) {
    ImGui::SetCursorScreenPos({room.max.x - button_width(context, words), room.min.y + context.px(10)});
    if (draw_button(context, "other page", words, ButtonLook::Plain, true, ""))
      view.price_first = !view.price_first;
    draw_ticks(
        context, inside,
        {{room.min.x, room.min.y + context.px(kButtonSide + 12 + (narrow ? kSecondRow : 0))}, room.max}, low);
    return;
  }
  draw_ticks(context, inside, {{end + context.px(24), room.min.y + context.px(6)}, room.max}, low);
}

}  // namespace shardlens::ui::collective
