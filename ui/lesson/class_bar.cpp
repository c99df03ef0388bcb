// In front of a class: the lesson's name, its scenes, the keys and the time in place of the Bar; and a blank
// window.
#include <fmt/format.h>
#include <icons_font_awesome_4.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/lesson/lesson_session.h"
#include "engine/runtime/snapshot.h"
#include "ui/lesson/card_parts.h"
#include "ui/lesson/lesson_view.h"
#include "ui/panels/bar/bar_chips.h"
#include "ui/plan/seen_break.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {
namespace {

constexpr float kLeastName = 60;  // a lesson's name in less room says nothing

}  // namespace

std::string clock_text(const Context& c) {
  const auto seconds = static_cast<int>(c.view.of<LessonView>().seconds);
  return fmt::format("{}:{:02} of {} min", seconds / 60, seconds % 60, c.lesson.lesson->minutes);
}

std::string class_keys(const Context& c) {
  const ShownQuestion* const asked = asked_question(c);
  std::string keys = "PgDn next";
  if (asked != nullptr && !c.lesson.answers.contains(asked->question->id)) {
    keys += "  \u00B7  Enter reveals";
    if (asked->question->kind == QuestionKind::Choice) keys += "  \u00B7  A, B, \u2026 hands";
  }
  return keys + "  \u00B7  . blanks  \u00B7  N notes  \u00B7  F11 ends";
}

void draw_class_bar(const Context& c) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, middle = at.y + ImGui::GetContentRegionAvail().y / 2;
  const TextStyle title{c.fonts.bold, std::round(c.px(16)), c.theme.text};
  const TextStyle words{c.fonts.body, std::round(c.px(kSmallSize)), c.theme.dim};
  const auto count = static_cast<int>(c.lesson.scenes.size());
  const float pitch = c.px(14), gap = c.px(16);
  float x = at.x, right = at.x + width;

  // From the right: facts about the run, shorter in a narrow window, and the clock.
  const std::optional<SeenBreak> seen = seen_break(c);
  const std::array<Chip, 2> chips{seen ? break_chip(c, *seen) : parity_chip(c.snapshot, c.theme),
                                  provenance_chip(c.snapshot, c.theme)};
  const ChipDetail detail = width > c.px(1000) ? ChipDetail::Short : ChipDetail::MarkOnly;
  for (auto chip = chips.rbegin(); chip != chips.rend(); ++chip) {
    right -= chip_width(c, *chip, detail);
    ImGui::SetCursorScreenPos({right, std::round(middle - c.px(kChipHeight) / 2)});
    draw_chip(c, chip == chips.rbegin() ? "class provenance" : "class parity", *chip, detail);
    right -= c.px(8);
  }
  const float dots = pitch * static_cast<float>(count);
  const std::string clock = clock_text(c);
  right -= c.px(8);
  if (const float long_clock = text_width(words, clock); right - long_clock - gap >= x + dots) {
    draw_text(list, {right, middle - words.size * 0.56f}, words, clock, Align::Right);
    right -= long_clock + gap;
  }
  if (const float room = right - x - dots - 2 * gap; room > c.px(kLeastName)) {
    const std::string name = fitted(title, c.lesson.lesson->title, room);
    draw_text(list, {x, middle - title.size * 0.56f}, title, name);
    x += text_width(title, name) + gap;
  }
  draw_scene_dots(c, {x, middle}, pitch);
  x += pitch * static_cast<float>(count);
  x += gap;
  if (const std::string keys = class_keys(c); x + text_width(words, keys) <= right)
    draw_text(list, {x, middle - words.size * 0.56f}, words, keys);
  else if (const char* few = "PgDn next  \u00B7  ? keys"; x + text_width(words, few) <= right)
    draw_text(list, {x, middle - words.size * 0.56f}, words, few);
}

void draw_blank(const Context& c) {
  if (!is_class(c.view) || !c.view.of<LessonView>().blank) return;
  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  fill_rect(ImGui::GetForegroundDrawList(), viewport.Pos,
            {viewport.Pos.x + viewport.Size.x, viewport.Pos.y + viewport.Size.y}, c.theme.window);
}

}  // namespace shardlens::ui
