// Shared by the tabs beside the Stage: their type styles at this frame's scale, the head of a page, a row of
// choices, the colours of memory kinds, and the button that copies a table.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "ui/context.h"
#include "ui/widgets/copy_table.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {

/// The type styles of a page, in pixels of this frame. Colours can be replaced: `in(style.body, theme.dim)`.
struct Type {
  explicit Type(const Context& context);
  TextStyle title;   ///< bold, 1.4 × body: the one headline of a page
  TextStyle figure;  ///< bold, 1.2 × body: the numbers that people read from a distance
  TextStyle strong;  ///< bold body
  TextStyle body;
  TextStyle note;       ///< small and dim
  TextStyle mono;       ///< values
  TextStyle mono_note;  ///< small values, dim
};

inline TextStyle in(TextStyle style, ImU32 colour) {
  style.colour = colour;
  return style;
}

/// Draws a headline at `at`; `reserve` pixels at the right of `width` stay free for controls. A headline that
/// would be cut beside them is drawn below them. Returns its height and what is above it.
float page_title(const Context& context, const std::string& title, ImVec2 at, float width, float reserve);

/// Draws the headline and one line of explanation at the cursor and moves it below them; `reserve` pixels at
/// the right stay free for controls.
void page_head(const Context& context, const std::string& title, const std::string& explanation,
               float reserve);

/// Where words stand that share their line with controls.
struct WordRoom {
  float width;  ///< of the words
  bool alone;   ///< the words have the whole width; the controls get a line of their own
};
/// Words stand beside controls that take `controls` of `width` pixels, gap included, if enough is left for a
/// few words a line.
WordRoom room_for_words(const Context& context, float width, float controls);

/// Places things from left to right, and below where the next one would leave `width`. `line`: from one row
/// to the next.
class Rows {
 public:
  Rows(ImVec2 at, float width, float line) : at_(at), left_(at.x), right_(at.x + width), line_(line) {}
  /// The place of a thing that is `width` wide; the next is `gap` right of it.
  ImVec2 place(float width, float gap);
  float bottom() const { return at_.y + line_; }

 private:
  ImVec2 at_;
  float left_, right_, line_;
};

/// Draws what needs at least `least` pixels of width, such as a table: `draw(at, width)` returns its height.
/// On a narrower page it can be scrolled sideways. Returns the height.
float draw_sideways(const Context& context, const char* id, ImVec2 at, float width, float least,
                    const std::function<float(ImVec2 at, float width)>& draw);

/// Draws a row of choices at `at`, of which `taken` is the current one. Returns the one clicked, or -1. Ids
/// are "##<id>/<label>".
int choice_row(const Context& context, const char* id, ImVec2 at, std::span<const std::string> labels,
               int taken);
float choice_row_width(const Context& context, std::span<const std::string> labels);
float choice_row_height(const Context& context);

/// A small "Copy" button at `right_top` (its right top corner) whose menu copies the table as text or as
/// Markdown. It is left out where it would leave the window; the table has the same menu.
void copy_button(const Context& context, const char* id, ImVec2 right_top, const MakeTable& make);
/// The same with entries of its own.
void copy_menu_button(const Context& context, const char* id, ImVec2 right_top,
                      const std::function<void()>& draw_entries);

/// A tooltip with a bold title, dim words beside it, and lines of monospaced text below, which the caller
/// writes. Call end_fact_tooltip() after them if this returns true.
bool begin_fact_tooltip(const Context& context, const std::string& title, const std::string& words);
void end_fact_tooltip();
float small_button_height(const Context& context);

/// A colour for families of related parts: `amount` of the way from the dark theme's token to the light
/// theme's. It is the same in both themes.
ImU32 deepened(ImU32 Theme::*token, float amount);

/// The colour in which bytes of a kind are drawn, everywhere that memory is shown.
ImU32 kind_colour(const Theme& theme, MemoryKind kind);

/// A thin rule across `width`.
void rule(const Context& context, ImVec2 at, float width);

}  // namespace shardlens::ui
