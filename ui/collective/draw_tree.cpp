// Draws the tree: a column for each rank, and a row for what the ranks hold at the beginning and after each
// hop. Arrows between the rows are the hops; the one under way is bright.
#include <cmath>

#include "ui/collective/parts.h"
#include "ui/panels/parts.h"

namespace shardlens::ui::collective {

namespace {

/// Which hop it is and what happens in it, side by side if there is room. Returns the height.
float draw_hop_words(const Context& context, const Inside& inside, const stage::Rect& room) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const TextStyle title{context.fonts.bold, std::round(context.px(20)), context.theme.text};
  const ImVec2 at = room.min;
  draw_text(list, at, title, hop_title(inside));
  const float beside = text_width(title, hop_title(inside)) + context.px(16);
  const WordRoom words = room_for_words(context, room.width(), beside);
  const ImVec2 place{words.alone ? at.x : at.x + beside,
                     at.y + (words.alone ? title.size + context.px(6) : context.px(4))};
  const float height = draw_wrapped(list, place, type.body, hop_sentence(inside), words.width);
  return std::max(title.size, place.y + height - at.y);
}

}  // namespace

void draw_tree(const Context& context, const Inside& inside, const stage::Rect& room) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  float y = room.min.y + draw_hop_words(context, inside, room) + context.px(14);

  const float label = context.px(76);
  const float column = (room.width() - label) / static_cast<float>(inside.size());
  for (int rank = 0; rank < inside.size(); ++rank) {
    const float x = room.min.x + label + column * (static_cast<float>(rank) + 0.5f);
    const int world = inside.ranks[static_cast<size_t>(rank)];
    const std::string name = inside.rank_name(rank);
    const bool whole = text_width(type.strong, name) + context.px(12) <= column;
    fill_rect(list, {x - column / 2 + context.px(3), y + type.strong.size + context.px(4)},
              {x + column / 2 - context.px(3), y + type.strong.size + context.px(7)}, theme.ranks[world % 8]);
    draw_text(list, {x, y}, type.strong, whole ? name : std::to_string(world), Align::Centre);
  }
  y += type.strong.size + context.px(14);

  // The rows of states, with the arrows of a hop between two of them.
  const int rows = inside.hops() + 1;
  const float pitch = (room.max.y - y) / static_cast<float>(rows);
  const float height = std::min(pitch * 0.46f, context.px(34));
  const float width = std::min(column - context.px(10), context.px(34) * static_cast<float>(inside.size()));
  const auto middle_of = [&](int rank) {
    return room.min.x + label + column * (static_cast<float>(rank) + 0.5f);
  };
  const int current = inside.hops_done();
  for (int after = 0; after < rows; ++after) {
    const float top = y + pitch * static_cast<float>(after);
    const bool reached = after <= current;
    draw_text(list, {room.min.x, top + height / 2 - type.note.size * 0.56f},
              in(type.note, after == current ? theme.text : theme.dim),
              after == 0 ? std::string("start") : "hop " + std::to_string(after));
    for (int rank = 0; rank < inside.size(); ++rank) {
      const stage::Rect place{{middle_of(rank) - width / 2, top},
                              {middle_of(rank) + width / 2, top + height}};
      if (!reached) {
        outline_rect(list, place.min, place.max, theme.line, context.px(3), std::max(1.0f, context.px(1)));
        continue;
      }
      draw_chunk(context, inside, after == current ? inside.look(rank, 0) : inside.look_after(after, rank, 0),
                 place);
    }
    if (after + 1 == rows) break;
    for (const Passing& one : inside.route().hops[static_cast<size_t>(after)]) {
      const bool now = inside.under_way() && after == inside.hop - 1;
      const ImU32 ink = now                          ? theme.communication
                        : reached && after < current ? faded(theme.communication, 0.45f)
                                                     : theme.line;
      const ImVec2 from{middle_of(one.from), top + height + context.px(4)},
          to{middle_of(one.to), top + pitch - context.px(4)};
      draw_line(list, from, to, ink, std::max(1.0f, context.px(now ? 2.5f : 1.5f)));
      const float size = context.px(now ? 9 : 7),
                  length = std::max(1.0f, std::hypot(to.x - from.x, to.y - from.y));
      const ImVec2 along((to.x - from.x) / length, (to.y - from.y) / length);
      const ImVec2 back(to.x - along.x * size, to.y - along.y * size),
          side(-along.y * size / 2, along.x * size / 2);
      fill_triangle(list, to, {back.x + side.x, back.y + side.y}, {back.x - side.x, back.y - side.y}, ink);
      if (!now) continue;
      const std::string words = passing_words(inside, one);
      const auto& view = context.view.of<CollectiveView>();
      const float share = view.playing ? view.under_way : 0.5f;
      const ImVec2 at(from.x + (to.x - from.x) * share,
                      from.y + (to.y - from.y) * share - type.note.size * 0.56f);
      const float half = text_width(type.note, words) / 2 + context.px(4);
      fill_rect(list, {at.x - half, at.y - 1}, {at.x + half, at.y + type.note.size + 1}, theme.window);
      draw_text(list, at, in(type.note, theme.text), words, Align::Centre);
    }
  }
}

}  // namespace shardlens::ui::collective
