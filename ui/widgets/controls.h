// The Bar's controls: a field that opens a list, a segmented choice, a button, and a chip that shows a fact.
// Each has a stable id, can return its width, and draws itself at the cursor. The caller lays out a row of
// them.
#pragma once

#include <imgui.h>

#include <string>
#include <vector>

#include "ui/context.h"

namespace shardlens::ui {

/// An area that can be clicked, or pressed with Enter or Space if it has the keyboard focus. Returns true
/// then. The caller draws its content.
bool click_area(const char* id, ImVec2 size);

inline constexpr float kControlHeight = 32;
inline constexpr float kChipHeight = 26;

/// A card with a dim label at its left and the value at its right.
struct FieldText {
  std::string label;  ///< may be empty
  std::string value;
};
float field_width(const Context& context, const FieldText& text);
/// Returns true if it was clicked.
bool draw_field(const Context& context, const char* id, const FieldText& text);

struct Segment {
  std::string text;
  std::string tooltip;
  bool chosen = false;
  bool possible = true;  ///< false: faint, and a click shows why
};
float segments_width(const Context& context, const std::string& label, const std::vector<Segment>& segments);
/// Returns the index clicked in this frame, or -1. Ids are `id` and the segment's text: "T/4".
int draw_segments(const Context& context, const char* id, const std::string& label,
                  const std::vector<Segment>& segments);

enum class ButtonLook { Accent, Plain };
float button_width(const Context& context, const std::string& text);
/// Shortens `text` so that a button with it is at most `width` wide.
std::string fitted_button(const Context& context, const std::string& text, float width);
bool draw_button(const Context& context, const char* id, const std::string& text, ButtonLook look,
                 bool enabled, const std::string& tooltip);

enum class Mark { Dot, Ring, Cross, Torn };  ///< good or neutral; not known yet; wrong; a broken run is shown
struct Chip {
  std::string text;
  std::string short_text;
  std::string least_text;
  std::string tooltip;
  ImU32 colour = 0;
  Mark mark = Mark::Dot;
};
enum class ChipDetail { Full, Short, Least, MarkOnly };
/// Shortens `words` so that a chip with them is at most `width` wide.
std::string chip_words(const Context& context, const std::string& words, float width);
float chip_width(const Context& context, const Chip& chip, ChipDetail detail);
bool draw_chip(const Context& context, const char* id, const Chip& chip, ChipDetail detail);

/// Begins a window that covers the others and dims everything behind it. `size.y` 0: as high as its content.
/// end_cover() ends it.
void begin_cover(const Context& context, const char* name, ImVec2 position, ImVec2 pivot, ImVec2 size,
                 float padding, ImGuiWindowFlags flags);
/// Returns true if a person clicked outside the window. The click reaches no other window.
bool end_cover();

/// A tooltip for the last item, wrapped at a readable width. Also for items that are disabled.
void tooltip(const Context& context, const std::string& text);
/// The same for what is no item: call it while the mouse is there.
void show_tooltip(const Context& context, const std::string& text);

}  // namespace shardlens::ui
