// Draws the Bar's controls on the draw list, with one invisible button each for the mouse.
#include "ui/widgets/controls.h"

#include <icons_font_awesome_4.h>
#include <imgui_internal.h>

#include <algorithm>
#include <cmath>

#include "engine/base/shown.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {
namespace {

constexpr float kPadding = 12;
constexpr float kGap = 12;  ///< between label and value

TextStyle label_style(const Context& c) {
  return {c.fonts.body, c.px(kSmallSize), c.theme.dim};
}
TextStyle value_style(const Context& c) {
  return {c.fonts.bold, c.px(14), c.theme.text};
}
TextStyle chip_style(const Context& c) {
  return {c.fonts.body, c.px(kSmallSize), c.theme.text};
}

/// The place and state of the last item.
struct ItemBox {
  ImVec2 min, max;
  bool hovered, held;
  float text_top(float size) const { return std::round((min.y + max.y - size) / 2); }
};

ItemBox last_item() {
  return {ImGui::GetItemRectMin(), ImGui::GetItemRectMax(), ImGui::IsItemHovered(), ImGui::IsItemActive()};
}

/// Draws the background of a clickable item: a card with an outline that lights up under the mouse.
void draw_card(const Context& c, const ItemBox& box, float rounding) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImU32 ground = box.held ? c.theme.ghost : c.theme.card;
  fill_rect(list, box.min, box.max, ground, rounding);
  outline_rect(list, box.min, box.max, box.hovered ? c.theme.faint : c.theme.line, rounding);
}

float segment_width(const Context& c, const Segment& segment) {
  return std::max(c.px(26), text_width(value_style(c), segment.text) + c.px(14));
}

}  // namespace

bool click_area(const char* id, ImVec2 size) {
  return ImGui::InvisibleButton(id, size, ImGuiButtonFlags_EnableNav);
}

float field_width(const Context& c, const FieldText& text) {
  const float label = text.label.empty() ? 0 : text_width(label_style(c), text.label) + c.px(kGap);
  return std::ceil(label + text_width(value_style(c), text.value) + 2 * c.px(kPadding));
}

bool draw_field(const Context& c, const char* id, const FieldText& text) {
  const bool clicked = click_area(id, {field_width(c, text), c.px(kControlHeight)});
  const ItemBox box = last_item();
  draw_card(c, box, c.px(4));
  ImDrawList* list = ImGui::GetWindowDrawList();
  const TextStyle label = label_style(c);
  const TextStyle value = value_style(c);
  draw_text(list, {box.min.x + c.px(kPadding), box.text_top(label.size)}, label, text.label);
  draw_text(list, {box.max.x - c.px(kPadding), box.text_top(value.size)}, value, text.value, Align::Right);
  return clicked;
}

float segments_width(const Context& c, const std::string& label, const std::vector<Segment>& segments) {
  float width = c.px(4) + (label.empty() ? 0 : text_width(label_style(c), label) + c.px(kPadding + 4));
  for (const Segment& segment : segments) width += segment_width(c, segment);
  return std::ceil(width + c.px(4));
}

int draw_segments(const Context& c, const char* id, const std::string& label,
                  const std::vector<Segment>& segments) {
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const float width = segments_width(c, label, segments);
  const float height = c.px(kControlHeight);
  ImDrawList* list = ImGui::GetWindowDrawList();
  fill_rect(list, origin, {origin.x + width, origin.y + height}, c.theme.card, c.px(4));
  outline_rect(list, origin, {origin.x + width, origin.y + height}, c.theme.line, c.px(4));
  const TextStyle dim = label_style(c);
  float x = origin.x + c.px(4);
  if (!label.empty()) {
    draw_text(list, {origin.x + c.px(kPadding), std::round(origin.y + (height - dim.size) / 2)}, dim, label);
    x += text_width(dim, label) + c.px(kPadding + 4);
  }
  int clicked = -1;
  ImGui::PushID(id);
  for (size_t i = 0; i < segments.size(); ++i) {
    const Segment& segment = segments[i];
    const float inset = c.px(4);
    ImGui::SetCursorScreenPos({x, origin.y + inset});
    const float segment_size = segment_width(c, segment);
    if (click_area(segment.text.c_str(), {segment_size, height - 2 * inset})) {
      clicked = static_cast<int>(i);
    }
    const ItemBox box = last_item();
    TextStyle style = value_style(c);
    if (segment.chosen) {
      fill_rect(list, box.min, box.max, c.theme.forward, c.px(4));
      style.colour = legible_on(c.theme, c.theme.forward);
    } else if (!segment.possible) {
      style.colour = c.theme.faint;
      style.font = c.fonts.body;
    } else if (box.hovered) {
      fill_rect(list, box.min, box.max, c.theme.line, c.px(4));
    }
    draw_text(list, {(box.min.x + box.max.x) / 2, box.text_top(style.size)}, style, segment.text,
              Align::Centre);
    if (!segment.tooltip.empty()) tooltip(c, segment.tooltip);
    x += segment_size;
  }
  ImGui::PopID();
  // One item for all segments, so that the next control is placed beside it.
  ImGui::SetCursorScreenPos(origin);
  ImGui::Dummy({width, height});
  return clicked;
}

float button_width(const Context& c, const std::string& text) {
  return std::ceil(text_width(value_style(c), text) + 2 * c.px(kPadding + 4));
}

std::string fitted_button(const Context& c, const std::string& text, float width) {
  return fitted(value_style(c), text, width - 2 * c.px(kPadding + 4));
}

bool draw_button(const Context& c, const char* id, const std::string& text, ButtonLook look, bool enabled,
                 const std::string& explanation) {
  ImGui::BeginDisabled(!enabled);
  const bool clicked = click_area(id, {button_width(c, text), c.px(kControlHeight)});
  ImGui::EndDisabled();
  const ItemBox box = last_item();
  ImDrawList* list = ImGui::GetWindowDrawList();
  TextStyle style = value_style(c);
  if (look == ButtonLook::Accent && enabled) {
    const ImU32 ground = box.hovered ? mixed(c.theme.forward, c.theme.text, 0.15f) : c.theme.forward;
    fill_rect(list, box.min, box.max, ground, c.px(4));
    style.colour = legible_on(c.theme, c.theme.forward);
  } else {
    draw_card(c, box, c.px(4));
    if (!enabled) style.colour = c.theme.faint;
  }
  draw_text(list, {(box.min.x + box.max.x) / 2, box.text_top(style.size)}, style, text, Align::Centre);
  tooltip(c, explanation);
  return clicked;
}

namespace {
const std::string& chip_text(const Chip& chip, ChipDetail detail) {
  return detail == ChipDetail::Full    ? chip.text
         : detail == ChipDetail::Short ? chip.short_text
                                       : chip.least_text;
}

/// Returns how much wider a chip is than its text.
float chip_padding(const Context& c) {
  return c.px(12 + 8 + 8 + 12);
}
}  // namespace

std::string chip_words(const Context& c, const std::string& words, float width) {
  return fitted(chip_style(c), words, width - chip_padding(c));
}

float chip_width(const Context& c, const Chip& chip, ChipDetail detail) {
  if (detail == ChipDetail::MarkOnly) return c.px(kChipHeight);
  return std::ceil(text_width(chip_style(c), chip_text(chip, detail)) + chip_padding(c));
}

bool draw_chip(const Context& c, const char* id, const Chip& chip, ChipDetail detail) {
  const float height = c.px(kChipHeight);
  const bool clicked = click_area(id, {chip_width(c, chip, detail), height});
  const ItemBox box = last_item();
  ImDrawList* list = ImGui::GetWindowDrawList();
  fill_rect(list, box.min, box.max, box.hovered ? c.theme.line : c.theme.card, height / 2);
  const TextStyle style = chip_style(c);
  const ImVec2 centre{detail == ChipDetail::MarkOnly ? (box.min.x + box.max.x) / 2 : box.min.x + c.px(16),
                      (box.min.y + box.max.y) / 2};
  switch (chip.mark) {
    case Mark::Dot:
      list->AddCircleFilled(centre, c.px(4), chip.colour);
      break;
    case Mark::Ring:
      list->AddCircle(centre, c.px(4), chip.colour, 0, std::max(1.f, c.px(1.5f)));
      break;
    case Mark::Cross: {
      const TextStyle cross{c.fonts.body, c.px(kSmallSize), chip.colour};
      draw_text(list, {centre.x, box.text_top(cross.size)}, cross, ICON_FA_TIMES, Align::Centre);
      break;
    }
    case Mark::Torn:
      draw_torn_line(list, {centre.x, box.min.y + c.px(5)}, {centre.x, box.max.y - c.px(5)}, chip.colour,
                     c.px(1.5f), c.px(3));
      break;
  }
  if (detail != ChipDetail::MarkOnly) {
    draw_text(list, {box.min.x + c.px(28), box.text_top(style.size)}, style, chip_text(chip, detail));
  }
  tooltip(c, chip.tooltip);
  return clicked;
}

namespace {

/// Puts an invisible window below the cover and above all others. So a click outside the cover closes it and
/// does not reach other windows, and these show no tooltips.
void hold_mouse_beside() {
  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  ImGui::SetNextWindowPos(viewport.Pos);
  ImGui::SetNextWindowSize(viewport.Size);
  ImGui::Begin("Beside the cover", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoDocking |
                   ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoFocusOnAppearing);
  // The cover begins after this window and takes the focus, so it is in front.
  if (ImGui::IsWindowAppearing()) ImGui::BringWindowToDisplayFront(ImGui::GetCurrentWindow());
  ImGui::End();
}

}  // namespace

void begin_cover(const Context& c, const char* name, ImVec2 position, ImVec2 pivot, ImVec2 size,
                 float padding, ImGuiWindowFlags flags) {
  hold_mouse_beside();
  ImGui::SetNextWindowPos(position, ImGuiCond_Always, pivot);
  ImGui::SetNextWindowSize(size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(padding, padding));
  ImGui::Begin(name, nullptr,
               flags | ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoCollapse |
                   ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoBackground);
  ImGui::PopStyleVar();
  if (!ImGui::IsWindowFocused(ImGuiFocusedFlags_RootAndChildWindows)) ImGui::SetWindowFocus();
  // The shade and the background are in this window's own list, so that both are above all other windows.
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  const ImVec2 min = ImGui::GetWindowPos();
  const ImVec2 max{min.x + ImGui::GetWindowWidth(), min.y + ImGui::GetWindowHeight()};
  list->PushClipRectFullScreen();
  fill_rect(list, viewport.Pos, {viewport.Pos.x + viewport.Size.x, viewport.Pos.y + viewport.Size.y},
            ImGui::GetColorU32(ImGuiCol_ModalWindowDimBg));
  fill_rect(list, min, max, c.theme.panel, c.px(6));
  outline_rect(list, min, max, c.theme.line, c.px(6));
  list->PopClipRect();
}

bool end_cover() {
  const bool beside = !ImGui::IsWindowAppearing() && ImGui::IsMouseClicked(ImGuiMouseButton_Left) &&
                      !ImGui::IsWindowHovered(ImGuiHoveredFlags_RootAndChildWindows |
                                              ImGuiHoveredFlags_AllowWhenBlockedByActiveItem);
  ImGui::End();
  return beside;
}

void tooltip(const Context& c, const std::string& text) {
  if (!text.empty() &&
      ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip | ImGuiHoveredFlags_AllowWhenDisabled))
    show_tooltip(c, text);
}

void show_tooltip(const Context& c, const std::string& text) {
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(c.px(12), c.px(8)));
  // What lies on top, such as a button on a row, says its own words instead.
  if (ImGui::BeginTooltipEx(ImGuiTooltipFlags_OverridePrevious, ImGuiWindowFlags_None)) {
    ImGui::PushTextWrapPos(c.px(360));
    ImGui::TextUnformatted(printable(text).c_str());
    ImGui::PopTextWrapPos();
    ImGui::EndTooltip();
  }
  ImGui::PopStyleVar();
}

}  // namespace shardlens::ui
