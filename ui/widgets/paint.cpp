// Text, colours between tokens and dashed outlines for the drawn panels.
#include "ui/widgets/paint.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "engine/base/shown.h"
#include "engine/base/utf8.h"
#include "ui/widgets/tape.h"

namespace shardlens::ui {
namespace {

/// Moves the rectangle's edges onto the grid of pixels. A rectangle that is not empty stays at least one
/// pixel wide and high.
void snap(ImVec2& min, ImVec2& max) {
  const bool wide = max.x > min.x, high = max.y > min.y;
  min = {std::round(min.x), std::round(min.y)};
  max = {std::max(std::round(max.x), min.x + (wide ? 1.0f : 0.0f)),
         std::max(std::round(max.y), min.y + (high ? 1.0f : 0.0f))};
}

/// A text that is not UTF-8 throughout, such as an old file's name, with its odd bytes as \xe9. Dear ImGui
/// would take the letters behind such a byte for a part of its character and hide them.
class Legible {
 public:
  explicit Legible(std::string_view text) : text_(text) {
    if (!is_utf8(text)) text_ = spelled_ = printable(text);
  }
  Legible(const Legible&) = delete;
  Legible& operator=(const Legible&) = delete;
  operator std::string_view() const { return text_; }

 private:
  std::string spelled_;
  std::string_view text_;
};

/// Glyphs are stored for whole sizes only. At a size between two of them a letter would lose columns of
/// pixels.
float letter_size(const TextStyle& style) {
  return std::max(1.0f, std::round(style.size));
}

/// On paper the distance between lines is the exact text size; on the screen lines begin on whole pixels.
float line_height(const TextStyle& style) {
  return Tape::current() ? style.size : letter_size(style);
}

/// Returns the end of the line that begins at `from` and is at most `width` wide. Dear ImGui also breaks
/// after a dot or a comma, but "attn.proj" and "1,024" are one word. A word is broken only if no line can
/// hold it.
const char* end_of_line(const TextStyle& style, const char* from, const char* end, float width) {
  if (width <= 0) return std::find(from, end, '\n');
  const char* to = style.font->CalcWordWrapPosition(letter_size(style), from, end, width);
  if (to == from && *to != '\n') ++to;  // not even one character fits
  if (to == end || *to == ' ' || *to == '\n' || *(to - 1) == ' ') return to;
  const std::string_view line(from, to);
  const size_t blank = line.find_last_of(' ');
  return blank == std::string_view::npos || blank == 0 ? to : from + blank;
}

/// Calls `each(line)` for each line of the wrapped text; returns the height of all lines together.
template <typename Each>
float for_each_line(const TextStyle& style, std::string_view given, float width, const Each& each) {
  const Legible legible(given);
  const std::string_view text = legible;
  const char* const end = text.data() + text.size();
  float height = 0;
  for (const char* from = text.data(); from < end; height += line_height(style)) {
    const char* to = end_of_line(style, from, end, width);
    each(std::string_view(from, to));
    while (to < end && *to == ' ') ++to;
    from = to < end && *to == '\n' ? to + 1 : to;
  }
  return height;
}

}  // namespace

float text_width(const TextStyle& style, std::string_view given) {
  const Legible legible(given);
  const std::string_view text = legible;
  if (text.empty()) return 0;
  return style.font->CalcTextSizeA(letter_size(style), FLT_MAX, 0, text.data(), text.data() + text.size()).x;
}

void draw_text(ImDrawList* list, ImVec2 at, const TextStyle& style, std::string_view given, Align align) {
  const Legible legible(given);
  const std::string_view text = legible;
  if (text.empty()) return;
  if (Tape* tape = Tape::current()) return tape->note(list, mark::Words{at, style, align, std::string(text)});
  if (align == Align::Centre) at.x -= text_width(style, text) / 2;
  if (align == Align::Right) at.x -= text_width(style, text);
  list->AddText(style.font, letter_size(style), {std::round(at.x), std::round(at.y)}, style.colour,
                text.data(), text.data() + text.size());
}

void draw_text_upwards(ImDrawList* list, ImVec2 at, const TextStyle& style, std::string_view given) {
  const Legible legible(given);
  const std::string_view text = legible;
  if (text.empty()) return;
  const ImVec2 level(at.x, at.y - style.size / 2);
  if (Tape* tape = Tape::current())
    return tape->note(list, mark::Words{level, style, Align::Left, std::string(text), true});
  // The library leaves out letters outside of the clip rectangle before they are turned: they are set where
  // they are surely inside, and turned to their place.
  const ImVec2 set = list->GetClipRectMin();
  const int first = list->VtxBuffer.Size;
  list->AddText(style.font, letter_size(style), set, style.colour, text.data(), text.data() + text.size());
  const float left = std::round(at.x - style.size / 2), bottom = std::round(at.y);
  for (int i = first; i < list->VtxBuffer.Size; ++i) {
    ImVec2& corner = list->VtxBuffer[i].pos;
    corner = {left + corner.y - set.y, bottom - corner.x + set.x};
  }
}

std::string fitted(const TextStyle& style, std::string_view given, float width) {
  const Legible legible(given);
  const std::string_view text = legible;
  if (text_width(style, text) <= width) return std::string(text);
  static constexpr std::string_view kEllipsis = "…";
  const float room = width - text_width(style, kEllipsis);
  if (room <= 0) return std::string(kEllipsis);
  const char* end = text.data() + text.size();
  const char* cut = text.data();
  style.font->CalcTextSizeA(letter_size(style), room, 0, text.data(), end, &cut);
  return std::string(text.data(), cut) + std::string(kEllipsis);
}

std::string longest_fitting(const TextStyle& style, std::span<const std::string> forms, float width) {
  for (const std::string& form : forms)
    if (text_width(style, form) <= width) return form;
  return {};
}

std::string fitted_in_middle(const TextStyle& style, std::string_view text, float width) {
  if (text_width(style, text) <= width) return std::string(text);
  static constexpr std::string_view kEllipsis = "…";
  const size_t slash = text.find_last_of('/');
  const std::string_view name = slash == std::string_view::npos ? text : text.substr(slash);
  const float room = width - text_width(style, name);
  if (name.size() == text.size() || room <= text_width(style, kEllipsis)) return fitted(style, name, width);
  return fitted(style, text.substr(0, slash), room) + std::string(name);
}

float wrapped_height(const TextStyle& style, std::string_view text, float width) {
  return for_each_line(style, text, width, [](std::string_view) {});
}

float draw_wrapped(ImDrawList* list, ImVec2 at, const TextStyle& style, std::string_view text, float width,
                   Align align) {
  return for_each_line(style, text, width, [&](std::string_view line) {
    draw_text(list, at, style, line, align);
    at.y += line_height(style);
  });
}

ImU32 mixed(ImU32 from, ImU32 to, float amount) {
  const ImVec4 a = ImGui::ColorConvertU32ToFloat4(from);
  const ImVec4 b = ImGui::ColorConvertU32ToFloat4(to);
  const float t = std::clamp(amount, 0.0f, 1.0f);
  return ImGui::ColorConvertFloat4ToU32(
      {a.x + (b.x - a.x) * t, a.y + (b.y - a.y) * t, a.z + (b.z - a.z) * t, a.w + (b.w - a.w) * t});
}

ImU32 legible_on(const Theme& theme, ImU32 ground) {
  return contrast_ratio(theme.text, ground) >= contrast_ratio(theme.window, ground) ? theme.text
                                                                                    : theme.window;
}

void fill_rect(ImDrawList* list, ImVec2 min, ImVec2 max, ImU32 colour, float rounding) {
  snap(min, max);
  if (Tape* tape = Tape::current()) return tape->note(list, mark::Fill{min, max, colour, rounding});
  list->AddRectFilled(min, max, colour, std::round(rounding));
}

void fill_rects(ImDrawList* list, std::span<const PlainRect> rects) {
  if (Tape* tape = Tape::current()) {
    for (const PlainRect& rect : rects) tape->note(list, mark::Fill{rect.min, rect.max, rect.colour, 0});
    return;
  }
  constexpr size_t kAtOnce = 8192;  // the vertices of one reservation are counted in 16 bits
  for (; !rects.empty(); rects = rects.subspan(std::min(kAtOnce, rects.size()))) {
    const auto some = rects.first(std::min(kAtOnce, rects.size()));
    const int count = static_cast<int>(some.size());
    list->PrimReserve(6 * count, 4 * count);
    for (const PlainRect& rect : some) list->PrimRect(rect.min, rect.max, rect.colour);
  }
}

void outline_rect(ImDrawList* list, ImVec2 min, ImVec2 max, ImU32 colour, float rounding, float thickness) {
  snap(min, max);
  thickness = std::max(1.0f, std::round(thickness));
  if (Tape* tape = Tape::current())
    return tape->note(list, mark::Outline{min, max, colour, rounding, thickness});
  list->AddRect(min, max, colour, std::round(rounding), thickness);
}

void draw_line(ImDrawList* list, ImVec2 from, ImVec2 to, ImU32 colour, float thickness) {
  if (Tape* tape = Tape::current()) return tape->note(list, mark::Line{from, to, colour, thickness});
  list->AddLine(from, to, colour, thickness);
}

void draw_torn_line(ImDrawList* list, ImVec2 from, ImVec2 to, ImU32 colour, float thickness, float tooth) {
  const float length = std::hypot(to.x - from.x, to.y - from.y);
  if (length <= 0 || tooth <= 0) return;
  const ImVec2 along((to.x - from.x) / length, (to.y - from.y) / length);
  const int teeth = std::max(1, static_cast<int>(std::round(length / (2 * tooth))));
  const float step = length / static_cast<float>(teeth);
  const auto corner = [&](int i) {
    const float at = step * static_cast<float>(i), aside = (i % 2 == 0 ? -tooth : tooth) * 0.6f;
    return ImVec2{from.x + along.x * at - along.y * aside, from.y + along.y * at + along.x * aside};
  };
  const ImVec2 clip_min = list->GetClipRectMin(), clip_max = list->GetClipRectMax();
  for (int i = 0; i < teeth; ++i) {
    const ImVec2 a = corner(i), b = corner(i + 1);
    const bool seen = std::max(a.x, b.x) >= clip_min.x && std::min(a.x, b.x) <= clip_max.x &&
                      std::max(a.y, b.y) >= clip_min.y && std::min(a.y, b.y) <= clip_max.y;
    if (seen) draw_line(list, a, b, colour, thickness);
  }
}

void fill_triangle(ImDrawList* list, ImVec2 a, ImVec2 b, ImVec2 c, ImU32 colour) {
  if (Tape* tape = Tape::current()) return tape->note(list, mark::Triangle{a, b, c, colour});
  list->AddTriangleFilled(a, b, c, colour);
}

void split_layers(ImDrawList* list, int count) {
  if (Tape* tape = Tape::current()) return tape->split();
  list->ChannelsSplit(count);
}

void choose_layer(ImDrawList* list, int layer) {
  if (Tape* tape = Tape::current()) return tape->choose(layer);
  list->ChannelsSetCurrent(layer);
}

void join_layers(ImDrawList* list) {
  if (Tape* tape = Tape::current()) return tape->join();
  list->ChannelsMerge();
}

void draw_dashed_line(ImDrawList* list, ImVec2 from, ImVec2 to, ImU32 colour, float thickness, float dash) {
  const float length = std::hypot(to.x - from.x, to.y - from.y);
  if (length <= 0 || dash <= 0) return;
  const ImVec2 step((to.x - from.x) / length, (to.y - from.y) / length);
  for (float at = 0; at < length; at += 2 * dash) {
    const float end = std::min(at + dash, length);
    draw_line(list, {from.x + step.x * at, from.y + step.y * at},
              {from.x + step.x * end, from.y + step.y * end}, colour, thickness);
  }
}

void draw_dashed_rect(ImDrawList* list, ImVec2 min, ImVec2 max, ImU32 colour, float thickness, float dash) {
  draw_dashed_line(list, min, {max.x, min.y}, colour, thickness, dash);
  draw_dashed_line(list, {max.x, min.y}, max, colour, thickness, dash);
  draw_dashed_line(list, max, {min.x, max.y}, colour, thickness, dash);
  draw_dashed_line(list, {min.x, max.y}, min, colour, thickness, dash);
}

}  // namespace shardlens::ui
