// Small things that every drawn panel does the same way: text at a place with an alignment, colours between
// two tokens, dashed outlines. Lengths are pixels already scaled; colours come from the Theme. What is drawn
// through these functions alone can also be exported as a figure (tape.h).
#pragma once

#include <imgui.h>

#include <span>
#include <string>
#include <string_view>

#include "ui/theme/theme.h"

namespace shardlens::ui {

/// A face, a size in pixels (already scaled) and a colour.
struct TextStyle {
  ImFont* font = nullptr;
  float size = kBodySize;
  ImU32 colour = 0;
};

enum class Align { Left, Centre, Right };

/// Width in pixels; 0 for an empty text.
float text_width(const TextStyle& style, std::string_view text);

/// One line with its top at `at.y` and its left, middle or right at `at.x`, snapped to whole pixels.
void draw_text(ImDrawList* list, ImVec2 at, const TextStyle& style, std::string_view text,
               Align align = Align::Left);

/// The text, shortened with "…" so that it is at most `width` wide.
std::string fitted(const TextStyle& style, std::string_view text, float width);
/// The same, shortened in its middle: of a path both the beginning and the name of the file stay.
std::string fitted_in_middle(const TextStyle& style, std::string_view text, float width);

/// Text wrapped at `width`; returns the height it took.
float draw_wrapped(ImDrawList* list, ImVec2 at, const TextStyle& style, std::string_view text, float width);
/// The height draw_wrapped would take.
float wrapped_height(const TextStyle& style, std::string_view text, float width);

/// The colour `amount` of the way from `from` to `to`, opacity included; amount in [0, 1].
ImU32 mixed(ImU32 from, ImU32 to, float amount);

/// Of the theme's darkest and lightest token, the one easier to read on `ground`.
ImU32 legible_on(const Theme& theme, ImU32 ground);

/// Rectangles lie on whole pixels: edges are sharp at every scale, and filling one takes two triangles, not
/// the ten of an edge that is blended into its neighbours. What covers anything covers a pixel at least.
void fill_rect(ImDrawList* list, ImVec2 min, ImVec2 max, ImU32 colour, float rounding = 0);
/// Many rectangles at once, as they are: not moved onto whole pixels, not rounded.
struct PlainRect {
  ImVec2 min, max;
  ImU32 colour = 0;
};
void fill_rects(ImDrawList* list, std::span<const PlainRect> rects);
/// The line lies inside the rectangle.
void outline_rect(ImDrawList* list, ImVec2 min, ImVec2 max, ImU32 colour, float rounding = 0,
                  float thickness = 1);

void draw_line(ImDrawList* list, ImVec2 from, ImVec2 to, ImU32 colour, float thickness);
void fill_triangle(ImDrawList* list, ImVec2 a, ImVec2 b, ImVec2 c, ImU32 colour);

/// What is drawn until join_layers() lies in the order of its layers, not in that in which it was drawn;
/// layer 0 is the lowest, and the first one chosen.
void split_layers(ImDrawList* list, int count);
void choose_layer(ImDrawList* list, int layer);
void join_layers(ImDrawList* list);

/// Outline of dashes `dash` long with gaps of the same length.
void draw_dashed_rect(ImDrawList* list, ImVec2 min, ImVec2 max, ImU32 colour, float thickness, float dash);
void draw_dashed_line(ImDrawList* list, ImVec2 from, ImVec2 to, ImU32 colour, float thickness, float dash);

}  // namespace shardlens::ui
