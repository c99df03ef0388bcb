// Draws cards, and the heads of their groups.
#include "ui/panels/start/cards.h"

#include <algorithm>
#include <cmath>

#include "ui/widgets/controls.h"

namespace shardlens::ui {
namespace {

constexpr float kGap = 12;
constexpr float kLeastCard = 300;
constexpr float kCardPadding = 14;
constexpr float kPictureWidth = 176, kPictureHeight = 84;
constexpr float kPictureBeside = 400;  ///< in a card of this width the picture is beside the words
constexpr float kBar = 4;              ///< the height of a bar

/// The places inside a card: the picture at the right of the words, or below them in a narrow card.
struct CardRoom {
  float words;          ///< their width
  bool beside;          ///< the picture
  float height, below;  ///< of the words with title and note; of a picture below them
};

CardRoom room_in(const Context& c, const Type& type, const Card& card, float width) {
  const float inner = width - c.px(2 * kCardPadding);
  const bool beside = card.picture && width >= c.px(kPictureBeside);
  CardRoom room{beside ? inner - c.px(kPictureWidth + 16) : inner, beside, 0, 0};
  room.height = type.strong.size + c.px(6) + wrapped_height(type.body, card.words, room.words);
  if (!card.note.empty()) room.height += c.px(8) + wrapped_height(type.note, card.note, room.words);
  if (card.done) room.height += c.px(8 + kBar);
  if (card.picture && !beside) room.below = c.px(kPictureHeight + 12);
  return room;
}

float card_height(const Context& c, const Type& type, const Card& card, float width) {
  const CardRoom room = room_in(c, type, card, width);
  const float least = room.beside ? c.px(kPictureHeight) : 0;
  return c.px(2 * kCardPadding) + std::max(least, room.height + room.below);
}

/// True when clicked.
bool draw_card(const Context& c, const Type& type, const Card& card, ImVec2 at, ImVec2 size) {
  ImGui::SetCursorScreenPos(at);
  ImGui::BeginDisabled(!card.opens);
  const bool clicked = click_area(card.id.c_str(), size);
  ImGui::EndDisabled();
  const bool hovered = card.opens && (ImGui::IsItemHovered() || ImGui::IsItemFocused());
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 max{at.x + size.x, at.y + size.y};
  fill_rect(list, at, max, c.theme.card, c.px(6));
  outline_rect(list, at, max, hovered ? c.theme.forward : c.theme.line, c.px(6), std::max(1.0f, c.px(1)));
  if (!card.help.empty()) tooltip(c, card.help);
  const CardRoom room = room_in(c, type, card, size.x);
  const float inner = room.words;
  if (card.picture) {
    const ImVec2 corner{max.x - c.px(kCardPadding), max.y - c.px(kCardPadding)};
    const ImVec2 from = room.beside ? ImVec2{corner.x - c.px(kPictureWidth), at.y + c.px(kCardPadding)}
                                    : ImVec2{at.x + c.px(kCardPadding), corner.y - c.px(kPictureHeight)};
    card.picture(list, from, {corner.x, from.y + c.px(kPictureHeight)});
  }
  ImVec2 pen{at.x + c.px(kCardPadding), at.y + c.px(kCardPadding)};
  const float icon = type.strong.size + c.px(8);
  draw_text(list, {pen.x + type.strong.size / 2, pen.y}, in(type.strong, c.theme.forward), card.icon,
            Align::Centre);
  draw_text(list, {pen.x + icon, pen.y}, type.strong, fitted(type.strong, card.title, inner - icon));
  pen.y += type.strong.size + c.px(6);
  draw_wrapped(list, pen, in(type.body, c.theme.dim), card.words, inner);
  float above = max.y - c.px(kCardPadding) - room.below;
  if (card.done) {
    above -= c.px(kBar);
    fill_rect(list, {pen.x, above}, {pen.x + inner, above + c.px(kBar)}, c.theme.line, c.px(kBar / 2));
    if (*card.done > 0)
      fill_rect(list, {pen.x, above}, {pen.x + inner * *card.done, above + c.px(kBar)},
                *card.done < 1 ? c.theme.forward : c.theme.agreement, c.px(kBar / 2));
    above -= c.px(8);
  }
  if (!card.note.empty()) {
    above -= wrapped_height(type.note, card.note, inner);
    draw_wrapped(list, {pen.x, above}, type.note, card.note, inner);
  }
  return clicked;
}

}  // namespace

void draw_section_head(const Context& c, const Type& type, const char* title, const std::string& words) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_text(list, at, type.figure, title);
  const float beside = text_width(type.figure, title) + c.px(12);
  draw_text(list, {at.x + beside, at.y + type.figure.size - type.note.size - c.px(1)}, type.note,
            fitted(type.note, words, ImGui::GetContentRegionAvail().x - beside));
  ImGui::Dummy({0, type.figure.size + c.px(4)});
}

int draw_cards(const Context& c, const Type& type, const std::vector<Card>& cards, int most_columns) {
  const float room = ImGui::GetContentRegionAvail().x;
  const int fitting = static_cast<int>((room + c.px(kGap)) / c.px(kLeastCard + kGap));
  const int columns = std::clamp(fitting, 1, most_columns);
  const float width =
      std::floor((room - c.px(kGap) * static_cast<float>(columns - 1)) / static_cast<float>(columns));
  int clicked = -1;
  ImVec2 at = ImGui::GetCursorScreenPos();
  const float left = at.x;
  for (size_t first = 0; first < cards.size(); first += static_cast<size_t>(columns)) {
    const size_t end = std::min(cards.size(), first + static_cast<size_t>(columns));
    float height = 0;
    for (size_t i = first; i < end; ++i) height = std::max(height, card_height(c, type, cards[i], width));
    at.x = left;
    for (size_t i = first; i < end; ++i) {
      if (draw_card(c, type, cards[i], at, {width, height})) clicked = static_cast<int>(i);
      at.x += width + c.px(kGap);
    }
    at.y += height + c.px(kGap);
  }
  ImGui::SetCursorScreenPos({left, at.y});
  ImGui::Dummy({0, c.px(8)});
  return clicked;
}

}  // namespace shardlens::ui
