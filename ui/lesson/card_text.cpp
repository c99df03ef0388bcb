// Draws the text of a lesson: words of several styles in one flow. A word of the glossary is explained under
// the mouse where the text has it first.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ui/commands/glossary.h"
#include "ui/lesson/card_parts.h"
#include "ui/lesson/lesson_view.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {
namespace {

constexpr float kLine = 1.42f;       ///< of a line, in heights of its type
constexpr float kUnderline = 1.22f;  ///< below the top of the type, in its heights
constexpr float kBetween = 0.55f;    ///< between two paragraphs
constexpr float kMonoScale = 0.98f;  ///< Inconsolata looks larger beside Roboto

/// Letters that stay together, and the space before them.
struct FlowWord {
  struct Piece {
    std::string text;
    TextStyle style;
  };
  std::vector<Piece> pieces;
  float space = 0;
  bool breaks = false;       ///< a new line begins before it
  bool is_name = false;      ///< set apart from the other words: f, `megatron`
  std::string_view meaning;  ///< of the glossary; empty: none, or it was explained before

  std::string text() const {
    std::string all;
    for (const Piece& piece : pieces) all += piece.text;
    return all;
  }

  float width() const {
    float all = 0;
    for (const Piece& piece : pieces) all += text_width(piece.style, piece.text);
    return all;
  }
};

TextStyle style_of(const Context& c, const ShownSpan& span, float size, ImU32 colour) {
  ImFont* const font = span.code       ? c.fonts.mono
                       : span.strong   ? c.fonts.bold
                       : span.emphasis ? c.fonts.italic
                                       : c.fonts.body;
  return {font, std::round(span.code ? size * kMonoScale : size), colour};
}

/// Cuts the text at its spaces. Two spans without a space between them are one word.
std::vector<FlowWord> words_of(const Context& c, const std::vector<ShownSpan>& spans, float size,
                               ImU32 colour) {
  std::vector<FlowWord> words(1);
  for (const ShownSpan& span : spans) {
    const TextStyle style = style_of(c, span, size, colour);
    for (size_t at = 0; at < span.text.size();) {
      const size_t end = std::min(span.text.find_first_of(" \n", at), span.text.size());
      if (end > at) {
        words.back().pieces.push_back({span.text.substr(at, end - at), style});
        words.back().is_name = words.back().is_name || span.emphasis || span.code;
      }
      if (end == span.text.size()) break;
      if (!words.back().pieces.empty()) words.emplace_back();
      words.back().space = text_width(style, " ");
      if (span.code && span.text[end] == '\n') words.back().breaks = true;
      at = end + 1;
    }
  }
  if (words.back().pieces.empty()) words.pop_back();
  return words;
}

/// Finds the words of the glossary that are not in `explained`, also those of two words.
void find_meanings(std::vector<FlowWord>& words, std::set<std::string_view>& explained) {
  std::vector<TextWord> texts;
  for (const FlowWord& word : words) texts.push_back({word.text(), word.is_name});
  const std::vector<std::string_view> meanings = glossary_meanings(texts, explained);
  for (size_t i = 0; i < words.size(); ++i) words[i].meaning = meanings[i];
}

/// Returns how many bytes of `text` fit in `width`, at least one character.
size_t fitting_bytes(const TextStyle& style, std::string_view text, float width) {
  size_t fits = 0;
  for (size_t next = 0; next < text.size(); fits = next) {
    do ++next;
    while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xC0U) == 0x80U);
    if (fits > 0 && text_width(style, text.substr(0, next)) > width) break;
  }
  return fits;
}

/// A line of dots below a word that can be pointed at, and what it means while it is.
void draw_meaning(const Context& c, ImVec2 min, ImVec2 max, std::string_view meaning) {
  const float dot = std::max(1.0f, std::round(c.px(1)));
  for (float x = min.x; x + dot <= max.x; x += 3 * dot)
    fill_rect(ImGui::GetWindowDrawList(), {x, max.y - dot}, {x + dot, max.y}, c.theme.dim);
  if (ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(min, max)) show_tooltip(c, std::string(meaning));
}

/// Draws words from `at` on; returns the height.
float draw_flow(const Context& c, ImVec2 at, const std::vector<FlowWord>& words, float line, float width) {
  ImDrawList* const list = ImGui::GetWindowDrawList();
  float x = 0, y = 0;
  for (const FlowWord& word : words) {
    const float wide = word.width();
    if (word.breaks || (x > 0 && x + word.space + wide > width)) {
      x = 0;
      y += line;
    } else if (x > 0) {
      x += word.space;
    }
    const ImVec2 begin{at.x + x, at.y + y};
    for (const FlowWord::Piece& piece : word.pieces) {
      std::string_view rest = piece.text;
      while (wide > width && x + text_width(piece.style, rest) > width) {  // longer than a whole line
        const size_t bytes = fitting_bytes(piece.style, rest, width - x);
        draw_text(list, {at.x + x, at.y + y}, piece.style, rest.substr(0, bytes));
        rest.remove_prefix(bytes);
        x = 0;
        y += line;
      }
      draw_text(list, {at.x + x, at.y + y}, piece.style, rest);
      x += text_width(piece.style, rest);
    }
    if (!word.meaning.empty())
      draw_meaning(c, begin, {at.x + x, at.y + y + word.pieces.front().style.size * kUnderline},
                   word.meaning);
  }
  return words.empty() ? 0 : y + line;
}

}  // namespace

float card_px(const Context& c, float at_scale_one) {
  return c.px(at_scale_one) * c.view.of<LessonView>().card_scale;
}

void draw_card_words(const Context& c, const TextStyle& style, const std::string& words, float width,
                     float below, float indent) {
  if (words.empty()) return;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height =
      draw_wrapped(ImGui::GetWindowDrawList(), {at.x + indent, at.y}, style, words, width - indent);
  ImGui::Dummy({width, height + card_px(c, below)});
}

void draw_card_text(const Context& c, const std::vector<ShownParagraph>& paragraphs, float width,
                    ImU32 colour) {
  using Kind = LessonParagraph::Kind;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float size = std::round(card_px(c, kCardText)), line = std::round(size * kLine);
  std::set<std::string_view> explained;
  for (const ShownParagraph& paragraph : paragraphs) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const bool listed = paragraph.kind == Kind::Bullet || paragraph.kind == Kind::Numbered;
    const float indent = listed                          ? card_px(c, 22)
                         : paragraph.kind == Kind::Quote ? card_px(c, 14)
                         : paragraph.kind == Kind::Code  ? card_px(c, 10)
                                                         : 0;
    const TextStyle mark{c.fonts.body, size, c.theme.dim};
    if (paragraph.kind == Kind::Bullet) draw_text(list, {at.x + card_px(c, 6), at.y}, mark, "\u2022");
    if (paragraph.kind == Kind::Numbered) draw_text(list, at, mark, fmt::format("{}.", paragraph.number));
    std::vector<FlowWord> words = words_of(c, paragraph.spans, size, colour);
    if (paragraph.kind != Kind::Code) find_meanings(words, explained);
    const float height = draw_flow(c, {at.x + indent, at.y}, words, line, width - indent);
    if (paragraph.kind == Kind::Quote)
      fill_rect(list, at, {at.x + card_px(c, 3), at.y + height}, c.theme.line);
    ImGui::Dummy({width, height + std::round(size * (listed ? kBetween / 2 : kBetween))});
  }
}

}  // namespace shardlens::ui
