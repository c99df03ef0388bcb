// Draws what a rank holds of one chunk, the same way on cards, on the table, on what travels and in the
// legend.
#include <cmath>

#include "ui/collective/parts.h"

namespace shardlens::ui::collective {
namespace {

constexpr float kLeastPlace = 5;    ///< width of a term's place, at scale 1; below that a bar tells the share
constexpr float kLeastNumber = 11;  ///< width of a place with its number

/// The sign of a complete chunk.
const char* complete_sign(const Inside& inside) {
  const Tensor& in = inside.program().tensor(inside.step().inputs.front());
  return in.layout.reduction == Reduction::Max ? "max" : "Σ";
}

TextStyle number_style(const Context& context, float height) {
  return {context.fonts.bold, std::round(std::min(context.px(16), height * 0.72f)), 0};
}

void draw_term(const Context& context, Term term, int index, const stage::Rect& place) {
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImU32 rank = theme.ranks[index % 8];
  const float rounding = std::min(context.px(3), place.height() / 5);
  if (term == Term::Absent) return fill_rect(list, place.min, place.max, theme.ghost, rounding);
  TextStyle style = number_style(context, place.height());
  if (term == Term::Held) {
    fill_rect(list, place.min, place.max, rank, rounding);
    style.colour = legible_on(theme, rank);
  } else {
    fill_rect(list, place.min, place.max, theme.window, rounding);
    outline_rect(list, place.min, place.max, theme.rank_outlines[index % 8], rounding,
                 std::max(1.0f, context.px(1.5f)));
    style.colour = theme.text;
  }
  if (place.width() < context.px(kLeastNumber) || style.size < context.px(8)) return;
  const std::string number = std::to_string(index);
  if (text_width(style, number) > place.width()) return;
  draw_text(list, {(place.min.x + place.max.x) / 2, (place.min.y + place.max.y) / 2 - style.size * 0.56f},
            style, number, Align::Centre);
}

/// Too small for places: as long as its share of the terms, with what arrives at its end.
void draw_share(const Context& context, const Inside& inside, const ChunkLook& look,
                const stage::Rect& place) {
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  fill_rect(list, place.min, place.max, theme.ghost);
  const auto count = [&](Term term) {
    return static_cast<float>(std::count(look.terms.begin(), look.terms.end(), term));
  };
  const float one = place.width() / static_cast<float>(terms_when_complete(inside.route()));
  const float held = std::min(count(Term::Held) * one, place.width());
  const float arrives = std::min(count(Term::Arrives) * one, place.width() - held);
  if (held > 0) fill_rect(list, place.min, {place.min.x + held, place.max.y}, theme.dim);
  if (arrives > 0)
    fill_rect(list, {place.min.x + held, place.min.y}, {place.min.x + held + arrives, place.max.y},
              mixed(theme.ghost, theme.dim, 0.45f));
}

}  // namespace

void draw_chunk(const Context& context, const Inside& inside, const ChunkLook& look,
                const stage::Rect& place) {
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const int places = terms_when_complete(inside.route());
  const float gap =
      std::max(1.0f, std::round(std::min(context.px(3), place.width() / static_cast<float>(places) * 0.12f)));
  const float width = (place.width() - gap * static_cast<float>(places - 1)) / static_cast<float>(places);
  if (look.complete && inside.sums()) {
    const float rounding = std::min(context.px(3), place.height() / 5);
    fill_rect(list, place.min, place.max, theme.agreement, rounding);
    TextStyle style = number_style(context, place.height());
    style.colour = legible_on(theme, theme.agreement);
    if (style.size >= context.px(8) && text_width(style, complete_sign(inside)) <= place.width())
      draw_text(list, {(place.min.x + place.max.x) / 2, (place.min.y + place.max.y) / 2 - style.size * 0.56f},
                style, complete_sign(inside), Align::Centre);
  } else if (width < context.px(kLeastPlace)) {
    draw_share(context, inside, look, place);
  } else {
    float x = place.min.x;
    for (size_t term = 0; term < look.terms.size(); ++term) {
      // An all-gather's chunk has one place, that of its owner.
      const bool has_place = places > 1 || look.terms[term] != Term::Absent;
      if (!has_place) continue;
      draw_term(context, look.terms[term], static_cast<int>(term),
                {{x, place.min.y}, {x + width, place.max.y}});
      x += width + gap;
    }
    if (x == place.min.x)
      draw_term(context, Term::Absent, 0, {place.min, {place.min.x + width, place.max.y}});
  }
  const float away = std::round(context.px(place.height() < context.px(12) ? 2 : 3));
  const ImVec2 min{place.min.x - away, place.min.y - away}, max{place.max.x + away, place.max.y + away};
  const float thick = std::max(1.0f, context.px(place.height() < context.px(12) ? 1 : 1.75f));
  if (look.sent) outline_rect(list, min, max, theme.communication, context.px(4), thick);
  if (look.completes) draw_dashed_rect(list, min, max, theme.agreement, thick, context.px(3));
}

void draw_passed(const Context& context, const Inside& inside, const Passing& passing,
                 const stage::Rect& place) {
  ChunkLook look = inside.look_after(inside.hops_done(), passing.from, passing.chunk);
  if (inside.kind() == Collective::AllToAll)  // of its own pieces, only that for the receiver
    for (int term = 0; term < inside.size(); ++term)
      look.terms[static_cast<size_t>(term)] = term == passing.from ? Term::Held : Term::Absent;
  draw_chunk(context, inside, look, place);
}

}  // namespace shardlens::ui::collective
