// Drawing functions that every panel shares: aligned text, colours between two tokens, dashed outlines.
// Lengths are pixels already scaled; colours come from the Theme. A panel that draws with these functions
// only can also be exported as a figure (tape.h).
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

/// Draws one line with its top at `at.y` and its left, middle or right at `at.x`, snapped to whole pixels.
void draw_text(ImDrawList* list, ImVec2 at, const TextStyle& style, std::string_view text,
               Align align = Align::Left);

/// Draws one line that is read from below to above: it begins at `at.y`, and `at.x` is its middle.
void draw_text_upwards(ImDrawList* list, ImVec2 at, const TextStyle& style, std::string_view text);

/// The text, shortened with "…" so that it is at most `width` wide.
std::string fitted(const TextStyle& style, std::string_view text, float width);
/// Of several forms of one text, the fullest first: the first that is at most `width` wide; empty: none is.
std::string longest_fitting(const TextStyle& style, std::span<const std::string> forms, float width);
/// As fitted(), but shortened in the middle: a path keeps its beginning and the name of its file.
std::string fitted_in_middle(const TextStyle& style, std::string_view text, float width);

/// Draws text wrapped at `width`; returns its height. `at.x` is the left, middle or right of every line.
float draw_wrapped(ImDrawList* list, ImVec2 at, const TextStyle& style, std::string_view text, float width,
                   Align align = Align::Left);
/// Returns the height that draw_wrapped() would return.
float wrapped_height(const TextStyle& style, std::string_view text, float width);

/// Returns the colour that is `amount` of the way from `from` to `to`, opacity included; amount in [0, 1].
ImU32 mixed(ImU32 from, ImU32 to, float amount);

/// Returns the theme's darkest or lightest token, whichever is easier to read on `ground`.
ImU32 legible_on(const Theme& theme, ImU32 ground);

/// Fills a rectangle, moved onto whole pixels: edges are sharp at every scale, and filling takes two
/// triangles instead of the ten of a blended edge. A rectangle that is not empty covers at least one pixel.
void fill_rect(ImDrawList* list, ImVec2 min, ImVec2 max, ImU32 colour, float rounding = 0);
/// One of the rectangles that fill_rects() fills together. They are not moved onto whole pixels and not
/// rounded.
struct PlainRect {
  ImVec2 min, max;
  ImU32 colour = 0;
};
void fill_rects(ImDrawList* list, std::span<const PlainRect> rects);
/// Draws a rectangle's outline. The line is inside the rectangle.
void outline_rect(ImDrawList* list, ImVec2 min, ImVec2 max, ImU32 colour, float rounding = 0,
                  float thickness = 1);

void draw_line(ImDrawList* list, ImVec2 from, ImVec2 to, ImU32 colour, float thickness);
/// A zigzag from `from` to `to`, with teeth of `tooth` to both sides: what lies there is wrong. Only teeth
/// inside the clip rectangle are made.
void draw_torn_line(ImDrawList* list, ImVec2 from, ImVec2 to, ImU32 colour, float thickness, float tooth);
void fill_triangle(ImDrawList* list, ImVec2 a, ImVec2 b, ImVec2 c, ImU32 colour);

/// Until join_layers(), layers decide what covers what, not the order of the calls. Layer 0 is the lowest,
/// and it is chosen at first.
void split_layers(ImDrawList* list, int count);
void choose_layer(ImDrawList* list, int layer);
void join_layers(ImDrawList* list);

/// Draws an outline of dashes; dashes and gaps are `dash` long.
void draw_dashed_rect(ImDrawList* list, ImVec2 min, ImVec2 max, ImU32 colour, float thickness, float dash);
void draw_dashed_line(ImDrawList* list, ImVec2 from, ImVec2 to, ImU32 colour, float thickness, float dash);

}  // namespace shardlens::ui
