// Form rows: see form.h.
#include "ui/widgets/form.h"

#include <fmt/format.h>
#include <icons_font_awesome_4.h>
#include <imgui_internal.h>
#include <misc/cpp/imgui_stdlib.h>

#include <algorithm>
#include <optional>
#include <type_traits>

#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"
#include "ui/widgets/paint.h"
#include "ui/widgets/slider_stops.h"
#include "ui/widgets/typed.h"

namespace shardlens::ui {
namespace {

constexpr float kRow = 28, kLabelWidth = 84, kValueWidth = 56, kKnob = 6;
constexpr float kStackedWidth = 196, kStackedTrack = 16;  ///< a narrower slider has its track below its label

TextStyle form_label_style(const Context& context) {
  return {context.fonts.body, context.px(kSmallSize), context.theme.dim};
}
TextStyle form_value_style(const Context& context) {
  return {context.fonts.body, context.px(kBodySize), context.theme.text};
}

float middle(float top, float height, const TextStyle& style) {
  return top + (height - style.size) / 2;
}

/// The caret's own width and the gap before it.
float caret_width(const Context& context) {
  return context.px(14);
}

void draw_value_with_caret(const Context& context, ImVec2 right_middle, const std::string& text, bool lit,
                           float room) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  TextStyle style = form_value_style(context);
  if (lit) style.colour = context.theme.forward;
  const TextStyle caret{context.fonts.body, context.px(11), lit ? context.theme.forward : context.theme.dim};
  draw_text(list, {right_middle.x, right_middle.y - caret.size / 2}, caret, ICON_FA_CARET_DOWN, Align::Right);
  draw_text(list, {right_middle.x - caret_width(context), right_middle.y - style.size / 2}, style,
            fitted(style, text, room), Align::Right);
}

/// Takes a typed number. If the text is not such a number, changes nothing and shows a message.
template <class T>
void take_typed(const Context& context, const std::string& text, T& value) {
  if (const std::optional<T> number = typed_number<T>(text))
    value = *number;
  else
    context.view.said = not_typed(text, std::is_signed_v<T>);
}

/// Draws a field for a number with the next item's width. Returns true if another number was typed and Enter
/// was pressed or the field was left.
template <class T>
bool draw_number(const Context& context, const char* id, T& value) {
  const T before = value;
  std::string text = std::to_string(value);
  ImGui::InputText(id, &text, ImGuiInputTextFlags_AutoSelectAll);
  if (ImGui::IsItemDeactivatedAfterEdit()) take_typed(context, text, value);
  return value != before;
}

/// Returns the title of a line "title: what it does###title", or the whole line if it has no "###".
std::string_view title_in(std::string_view option) {
  const size_t mark = option.find("###");
  return mark == std::string_view::npos ? option : option.substr(mark + 3);
}

/// Draws the list of a choice that was clicked: below the choice, or above it if there is no room, never over
/// it. Returns the chosen index, or -1.
int choose_from(const Context& context, const char* popup, const ImRect& choice, const std::string& current,
                const std::vector<std::string>& options) {
  int chosen = -1;
  constexpr ImGuiComboFlags kFlags = ImGuiComboFlags_HeightLargest | ImGuiComboFlags_PopupAlignLeft;
  if (!ImGui::BeginComboPopup(ImGui::GetID(popup), choice, kFlags)) return chosen;
  // Space between the lines makes them easy to click; the form's own rows have none.
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(context.px(8), context.px(8)));
  for (size_t i = 0; i < options.size(); ++i) {
    const bool is_current = title_in(options[i]) == current;
    if (ImGui::Selectable(options[i].c_str(), is_current)) chosen = static_cast<int>(i);
    if (is_current) ImGui::SetItemDefaultFocus();  // where the arrow keys begin
  }
  ImGui::PopStyleVar();
  ImGui::EndCombo();
  return chosen;
}

}  // namespace

bool slider_row(const Context& context, const char* label, const std::vector<int64_t>& stops,
                int64_t& value) {
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float row = context.px(kRow);
  const float right = at.x + ImGui::GetContentRegionAvail().x;
  const bool stacked = right - at.x < context.px(kStackedWidth);
  const float track_height = stacked ? context.px(kStackedTrack) : row;
  const float track_top = stacked ? at.y + row - context.px(4) : at.y;
  const float begin = at.x + context.px(stacked ? kKnob : kLabelWidth);
  const float end = right - context.px(stacked ? kKnob : kValueWidth);
  const float centre = track_top + track_height / 2;
  const float value_left = right - context.px(kValueWidth - 8);
  const int64_t before = value;
  ImGui::PushID(label);
  draw_text(list, {at.x, middle(at.y, row, form_label_style(context))}, form_label_style(context), label);

  ImGui::SetCursorScreenPos({begin - context.px(kKnob), track_top});
  ImGui::InvisibleButton("slider", {std::max(1.0f, end - begin + 2 * context.px(kKnob)), track_height});
  const bool active = ImGui::IsItemActive();
  const bool lit = active || ImGui::IsItemHovered();
  if (active)
    value = value_at(stops, static_cast<double>((ImGui::GetIO().MousePos.x - begin) / (end - begin)));
  const float knob = begin + (end - begin) * static_cast<float>(share_of(stops, value));
  const float half = context.px(2);
  fill_rect(list, {begin, centre - half}, {end, centre + half}, theme.ghost, half);
  fill_rect(list, {begin, centre - half}, {knob, centre + half}, theme.forward, half);
  list->AddCircleFilled({knob, centre}, context.px(lit ? kKnob + 1 : kKnob), theme.text);

  // The number. A click turns it into a field with the same name, so that it keeps the keyboard focus.
  ImGuiStorage* storage = ImGui::GetStateStorage();
  const ImGuiID editing = ImGui::GetID("editing");
  const int editing_frames = storage->GetInt(editing, 0);  // 0: no, 1: just begun, 2: yes
  ImGui::SetCursorScreenPos({value_left, at.y});
  if (editing_frames > 0) {
    ImGui::SetNextItemWidth(right - value_left);
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {context.px(4), context.px(4)});
    if (editing_frames == 1) ImGui::SetKeyboardFocusHere();
    std::string text = std::to_string(value);
    if (ImGui::InputText("##value", &text,
                         ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_AutoSelectAll))
      take_typed(context, text, value);
    ImGui::PopStyleVar();
    const bool left = editing_frames > 1 && !ImGui::IsItemActive();
    storage->SetInt(editing, left ? 0 : 2);
  } else {
    if (click_area("##value", {right - value_left, row})) storage->SetInt(editing, 1);
    const TextStyle style = form_value_style(context);
    draw_text(list, {right, middle(at.y, row, style)}, style, std::to_string(value), Align::Right);
    if (ImGui::IsItemHovered()) {
      ImGui::SetMouseCursor(ImGuiMouseCursor_TextInput);
      list->AddLine({right - text_width(style, std::to_string(value)), at.y + row - context.px(5)},
                    {right, at.y + row - context.px(5)}, theme.faint);
      show_tooltip(context, "Click or press Enter to type a value");
    }
  }
  ImGui::PopID();
  ImGui::SetCursorScreenPos({at.x, stacked ? track_top + track_height : at.y + row});
  ImGui::Dummy({0, 0});
  return value != before;
}

int option_row(const Context& context, const char* label, const std::string& current,
               const std::vector<std::string>& options, const char* meaning) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float row = context.px(kRow);
  const float width = ImGui::GetContentRegionAvail().x;
  draw_text(list, {at.x, middle(at.y, row, form_label_style(context))}, form_label_style(context), label);
  ImGui::PushID(label);
  if (click_area("choice", {std::max(1.0f, width), row})) ImGui::OpenPopup("options");
  const bool hovered = ImGui::IsItemHovered();
  if (hovered && meaning != nullptr) show_tooltip(context, meaning);
  const float room =
      width - text_width(form_label_style(context), label) - caret_width(context) - context.px(12);
  draw_value_with_caret(context, {at.x + width, at.y + row / 2}, current, hovered, room);
  const int chosen = choose_from(context, "options", {at, {at.x + width, at.y + row}}, current, options);
  ImGui::PopID();
  ImGui::SetCursorScreenPos({at.x, at.y + row});
  ImGui::Dummy({0, 0});
  return chosen;
}

int option_at(const Context& context, const char* id, ImVec2 right_middle, const std::string& current,
              const std::vector<std::string>& options) {
  const float height = context.px(kRow);
  const float width = text_width(form_value_style(context), current) + caret_width(context) + context.px(8);
  ImGui::PushID(id);
  const ImVec2 at{right_middle.x - width, right_middle.y - height / 2};
  ImGui::SetCursorScreenPos(at);
  if (click_area("choice", {width, height})) ImGui::OpenPopup("options");
  draw_value_with_caret(context, right_middle, current, ImGui::IsItemHovered(), width);
  const int chosen = choose_from(context, "options", {at, {right_middle.x, at.y + height}}, current, options);
  ImGui::PopID();
  return chosen;
}

namespace {

/// Draws a row's label and sets the cursor and the next item's width for a field at the right.
void begin_field_row(const Context& context, const char* label, float field_width) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float room = ImGui::GetContentRegionAvail().x;
  const float row = context.px(kRow);
  draw_text(ImGui::GetWindowDrawList(), {at.x, middle(at.y, row, form_label_style(context))},
            form_label_style(context), label);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {context.px(8), context.px(3)});
  ImGui::SetCursorScreenPos({at.x + room - field_width, at.y + (row - ImGui::GetFrameHeight()) / 2});
  ImGui::SetNextItemWidth(field_width);
  ImGui::PushID(label);
}

void end_field_row(const Context& context, ImVec2 at) {
  ImGui::PopID();
  ImGui::PopStyleVar();
  ImGui::SetCursorScreenPos({at.x, at.y + context.px(kRow)});
  ImGui::Dummy({0, 0});
}

}  // namespace

bool number_row(const Context& context, const char* label, uint64_t& value) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  begin_field_row(context, label, context.px(104));
  const bool changed = draw_number(context, "##value", value);
  end_field_row(context, at);
  return changed;
}

bool number_field(const Context& context, const char* id, int64_t& value) {
  return draw_number(context, id, value);
}

bool path_row(const Context& context, const char* label, const char* hint, std::string& path) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  begin_field_row(context, label, context.px(152));
  ImGui::InputTextWithHint("##path", hint, &path);
  const bool changed = ImGui::IsItemDeactivatedAfterEdit();
  end_field_row(context, at);
  return changed;
}

void heading(const Context& context, const char* text) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const TextStyle style{context.fonts.bold, context.px(kBodySize), context.theme.text};
  draw_text(ImGui::GetWindowDrawList(), {at.x, at.y + context.px(12)}, style, text);
  ImGui::SetCursorScreenPos({at.x, at.y + context.px(12) + style.size + context.px(8)});
  ImGui::Dummy({0, 0});
}

}  // namespace shardlens::ui
