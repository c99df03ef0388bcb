// Draws the ring: a card for each rank with what it holds of every chunk, and between the cards what travels
// in the hop that is under way. While the hops play, it moves from card to card; else it stands half-way.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "ui/collective/parts.h"
#include "ui/panels/parts.h"

namespace shardlens::ui::collective {
namespace {

using stage::Rect;

constexpr float kHalfWay = 0.5f;

/// Where the cards stand, and how large they are.
struct RingPlaces {
  std::vector<Rect> cards;
  ImVec2 centre, radius;
  float row = 0;  ///< height of a chunk's row; 0: the cards have a single row of small bars
  float head = 0, tile = 0, cell = 0;

  float angle(float place) const {
    const auto count = static_cast<float>(cards.size());
    const float first = cards.size() == 2 ? std::numbers::pi_v<float> : -std::numbers::pi_v<float> / 2;
    return first + 2 * std::numbers::pi_v<float> * place / count;
  }
  ImVec2 on_ring(float place) const {
    const float a = angle(place);
    return {centre.x + radius.x * std::cos(a), centre.y + radius.y * std::sin(a)};
  }
};

bool meet(const Rect& a, const Rect& b, float gap) {
  return a.min.x < b.max.x + gap && b.min.x < a.max.x + gap && a.min.y < b.max.y + gap &&
         b.min.y < a.max.y + gap;
}

Rect around(ImVec2 centre, ImVec2 size) {
  return {{std::round(centre.x - size.x / 2), std::round(centre.y - size.y / 2)},
          {std::round(centre.x + size.x / 2), std::round(centre.y + size.y / 2)}};
}

TextStyle hop_style(const Context& context) {
  return {context.fonts.bold, std::round(context.px(24)), context.theme.text};
}

/// The room that the words in the middle need, whichever hop is shown: the cards stay where they are.
ImVec2 words_size(const Context& context, const Inside& inside, const Rect& room) {
  const Type type(context);
  const float width = std::min(context.px(330), room.width() * 0.42f);
  float sentence = 0;
  Inside at_hop = inside;
  for (at_hop.hop = 0; at_hop.hop <= inside.hops() + 1; ++at_hop.hop)
    sentence = std::max(sentence, wrapped_height(type.body, hop_sentence(at_hop), width));
  return {width, hop_style(context).size + type.body.size + sentence + context.px(12)};
}

RingPlaces placed(const Context& context, const Rect& room, int ranks, ImVec2 card) {
  RingPlaces places;
  places.centre = {(room.min.x + room.max.x) / 2, (room.min.y + room.max.y) / 2};
  places.radius = {(room.width() - card.x) / 2, (room.height() - card.y) / 2};
  if (ranks == 2) places.radius.y = std::max(context.px(40), (room.height() - context.px(60)) / 2);
  places.cards.resize(static_cast<size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank)
    places.cards[static_cast<size_t>(rank)] = around(places.on_ring(static_cast<float>(rank)), card);
  return places;
}

bool is_free(const Context& context, const RingPlaces& places, const Rect& words) {
  for (size_t i = 0; i < places.cards.size(); ++i) {
    if (meet(places.cards[i], words, context.px(8))) return false;
    for (size_t j = 0; j < i; ++j)
      if (meet(places.cards[i], places.cards[j], context.px(8))) return false;
  }
  return true;
}

/// Returns the largest cards that leave room for each other and for the words in the middle, of size
/// `middle`.
RingPlaces ring_places(const Context& context, const Inside& inside, bool with_pictures, const Rect& room,
                       ImVec2 middle) {
  const int ranks = inside.size(), chunks = inside.route().chunks;
  const auto places_of_chunk = static_cast<float>(terms_when_complete(inside.route()));
  const Rect words = around({(room.min.x + room.max.x) / 2, (room.min.y + room.max.y) / 2}, middle);
  for (const float row : {38.0f, 32.0f, 27.0f, 23.0f, 19.0f, 16.0f, 13.0f}) {
    const float cell = std::max(row * 1.15f, places_of_chunk == 1 ? row * 2.6f : 0.0f);
    const float tile = with_pictures ? row * 2.2f : 0;
    const ImVec2 card{context.px(12 + 22 + tile + (tile > 0 ? 10 : 0) + cell * places_of_chunk + 16),
                      context.px(32 + row * static_cast<float>(chunks) + 8)};
    RingPlaces places = placed(context, room, ranks, card);
    places.row = context.px(row);
    places.head = context.px(32);
    places.tile = context.px(tile);
    places.cell = context.px(cell);
    const float apart = context.px(ranks <= 4 ? 90 : 40);  // for what travels between two cards
    const bool has_room = places.radius.x > 0 && places.radius.y > 0 && 2 * card.x + apart <= room.width();
    if (has_room && is_free(context, places, words)) return places;
  }
  const float width = std::clamp(room.width() / 8, context.px(72), context.px(150));
  return placed(context, room, ranks, {width, context.px(46)});
}

std::string card_note(const Inside& inside, int rank) {
  std::string sends, receives;
  for (const Passing& one : inside.passings()) {
    if (one.from == rank) sends = std::to_string(one.chunk);
    if (one.to == rank) receives = std::to_string(one.chunk);
  }
  if (sends.empty() && receives.empty()) return {};
  return "sends " + sends + ", receives " + receives;
}

void draw_card(const Context& context, const Inside& inside, const ChunkPictures& pictures,
               const RingPlaces& places, int rank) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Rect& card = places.cards[static_cast<size_t>(rank)];
  fill_rect(list, card.min, card.max, theme.card, context.px(3));
  const int world = inside.ranks[static_cast<size_t>(rank)];
  fill_rect(list, card.min, {card.min.x + context.px(4), card.max.y}, theme.ranks[world % 8]);
  const float left = card.min.x + context.px(12), right = card.max.x - context.px(10);
  const std::string name = inside.rank_name(rank), note = card_note(inside, rank);
  draw_text(list, {left, card.min.y + context.px(8)}, type.strong, name);
  if (text_width(type.strong, name) + text_width(type.note, note) + context.px(14) <= right - left)
    draw_text(list, {right, card.min.y + context.px(9)}, type.note, note, Align::Right);
  const int chunks = inside.route().chunks;
  if (places.row == 0) {
    const float gap = context.px(2), width = (right - left + gap) / static_cast<float>(chunks);
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const float x = left + width * static_cast<float>(chunk);
      draw_chunk(context, inside, inside.look(rank, chunk),
                 {{x, card.max.y - context.px(18)}, {x + width - gap, card.max.y - context.px(7)}});
    }
    return;
  }
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const float top = card.min.y + places.head + places.row * static_cast<float>(chunk);
    const float inset = std::max(1.0f, std::round(places.row * 0.12f));
    const float bottom = top + places.row - inset;
    const bool moves = inside.look(rank, chunk).sent || inside.look(rank, chunk).completes;
    draw_text(list, {left, (top + inset + bottom) / 2 - type.note.size * 0.56f},
              in(type.note, moves ? theme.text : theme.dim), std::to_string(chunk));
    float x = left + context.px(20);
    if (places.tile > 0) {
      draw_picture(context, inside, pictures, rank, chunk, {{x, top + inset}, {x + places.tile, bottom}});
      x += places.tile + context.px(10);
    }
    draw_chunk(context, inside, inside.look(rank, chunk),
               {{x, top + inset}, {right - context.px(2), bottom}});
  }
}

/// Draws the way from one card to another, with an arrow where it reaches the card. `at` gives its points.
void draw_way(const Context& context, const RingPlaces& places, int from, int to, const auto& at) {
  constexpr int kPieces = 48;
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  ImVec2 before = at(0);
  const float thick = std::max(1.0f, context.px(2));
  for (int i = 1; i <= kPieces; ++i) {
    const ImVec2 now = at(static_cast<float>(i) / kPieces);
    const bool leaves = places.cards[static_cast<size_t>(from)].contains(now);
    const Rect& card = places.cards[static_cast<size_t>(to)];
    if (card.contains(now)) {
      // The card is drawn over the way, so the head ends at the card's border.
      constexpr int kHalvings = 10;
      float outside = static_cast<float>(i - 1) / kPieces, inside = static_cast<float>(i) / kPieces;
      for (int half = 0; half < kHalvings; ++half) {
        const float middle = (outside + inside) / 2;
        (card.contains(at(middle)) ? inside : outside) = middle;
      }
      const ImVec2 tip = at(outside);
      const float length = std::max(1e-3f, std::hypot(now.x - before.x, now.y - before.y));
      const ImVec2 along((now.x - before.x) / length, (now.y - before.y) / length);
      const float size = context.px(11);
      const ImVec2 back(tip.x - along.x * size, tip.y - along.y * size),
          side(-along.y * size / 2, along.x * size / 2);
      if (!leaves) draw_line(list, before, back, theme.communication, thick);
      fill_triangle(list, tip, {back.x + side.x, back.y + side.y}, {back.x - side.x, back.y - side.y},
                    theme.communication);
      return;
    }
    if (!leaves) draw_line(list, before, now, theme.communication, thick);
    before = now;
  }
}

/// The part of a way on which a load of this size covers nothing of the two cards; all of it if there is
/// none.
std::pair<float, float> free_way(const Context& context, const RingPlaces& places, const Passing& passing,
                                 const auto& at, ImVec2 load) {
  constexpr int kPieces = 64;
  const Rect& from = places.cards[static_cast<size_t>(passing.from)];
  const Rect& to = places.cards[static_cast<size_t>(passing.to)];
  float first = 1, last = 0;
  for (int i = 0; i <= kPieces; ++i) {
    const float share = static_cast<float>(i) / kPieces;
    const Rect there = around(at(share), load);
    if (meet(from, there, context.px(2)) || meet(to, there, context.px(2))) continue;
    first = std::min(first, share);
    last = std::max(last, share);
  }
  return first <= last ? std::pair(first, last) : std::pair(0.0f, 1.0f);
}

/// Draws what travels from card to card. `under_way`: the share of the way between the cards that is done.
void draw_travelling(const Context& context, const Inside& inside, const RingPlaces& places,
                     const Passing& passing, const auto& at, float under_way) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const auto terms = static_cast<float>(terms_when_complete(inside.route()));
  const float cell =
      places.row > 0 ? std::min(places.cell, context.px(34)) : context.px(inside.size() > 8 ? 4 : 9);
  const float height = places.row > 0 ? std::min(places.row, context.px(30)) * 0.86f : context.px(14);
  const float width = std::max(cell * terms, context.px(26));
  const float pad = context.px(places.row > 0 ? 7 : 4);
  const auto [first, last] =
      free_way(context, places, passing, at, {width + 2 * pad, height + 2 * pad + 2 * type.note.size});
  const ImVec2 middle = at(first + (last - first) * under_way);
  const Rect inner = around(middle, {width, height});
  const ImVec2 min{inner.min.x - pad, inner.min.y - pad}, max{inner.max.x + pad, inner.max.y + pad};
  fill_rect(list, min, max, theme.window, context.px(5));
  outline_rect(list, min, max, theme.communication, context.px(5), std::max(1.0f, context.px(2)));
  draw_passed(context, inside, passing, inner);
  if (inside.size() > 8) return;
  const std::string words =
      places.row > 0 ? passing_words(inside, passing) : "chunk " + std::to_string(passing.chunk);
  const bool above = middle.y < places.centre.y;
  const float y = above ? min.y - type.note.size - context.px(4) : max.y + context.px(4);
  draw_text(list, {middle.x, y}, in(type.note, theme.text), words, Align::Centre);
}

void draw_words(const Context& context, const Inside& inside, const Rect& room, ImVec2 size) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 middle((room.min.x + room.max.x) / 2, (room.min.y + room.max.y) / 2);
  const TextStyle title = hop_style(context);
  const std::string words = hop_sentence(inside);
  const std::string part = inside.under_way() ? part_title(inside, inside.hop) : "";
  const float sentence = wrapped_height(type.body, words, size.x);
  const float height =
      title.size + context.px(6) + (part.empty() ? 0 : type.body.size + context.px(6)) + sentence;
  float y = middle.y - height / 2;
  fill_rect(list, {middle.x - size.x / 2, y - context.px(2)},
            {middle.x + size.x / 2, y + height + context.px(2)}, context.theme.window);
  draw_text(list, {middle.x, y}, title, hop_title(inside), Align::Centre);
  y += title.size + context.px(6);
  if (!part.empty()) {
    draw_text(list, {middle.x, y}, in(type.body, context.theme.communication), part, Align::Centre);
    y += type.body.size + context.px(6);
  }
  draw_wrapped(list, {middle.x, y}, type.body, words, size.x, Align::Centre);
}

}  // namespace

void draw_ring(const Context& context, const Inside& inside, const ChunkPictures& pictures,
               const Rect& room) {
  const ImVec2 words = words_size(context, inside, room);
  const RingPlaces places = ring_places(context, inside, pictures.known(), room, words);
  const auto& view = context.view.of<CollectiveView>();
  const float under_way = view.playing ? view.under_way : kHalfWay;
  const bool direct = inside.kind() == Collective::AllToAll && inside.size() > 2;
  const auto way_of = [&](const Passing& one) {
    return [&places, one, direct](float share) {
      if (!direct) return places.on_ring(static_cast<float>(one.from) + share);
      const ImVec2 from = places.on_ring(static_cast<float>(one.from)),
                   to = places.on_ring(static_cast<float>(one.to));
      return ImVec2(from.x + (to.x - from.x) * share, from.y + (to.y - from.y) * share);
    };
  };
  for (const Passing& one : inside.passings()) draw_way(context, places, one.from, one.to, way_of(one));
  draw_words(context, inside, room, words);
  for (int rank = 0; rank < inside.size(); ++rank) draw_card(context, inside, pictures, places, rank);
  // Straight ways cross in the middle, so their load stands nearer to its sender.
  const float shown = direct && !view.playing ? 0.3f : under_way;
  for (const Passing& one : inside.passings())
    draw_travelling(context, inside, places, one, way_of(one), shown);
}

}  // namespace shardlens::ui::collective
