// Heads, choices, copy buttons and kind colours of the tabs beside the Stage.
#include "ui/panels/parts.h"

#include <cmath>

#include "ui/widgets/controls.h"

namespace shardlens::ui {

Type::Type(const Context& context)
    : title{context.fonts.bold, context.px(kBodySize * 1.4f), context.theme.text},
      figure{context.fonts.bold, context.px(kBodySize * 1.2f), context.theme.text},
      strong{context.fonts.bold, context.px(kBodySize), context.theme.text},
      body{context.fonts.body, context.px(kBodySize), context.theme.text},
      note{context.fonts.body, context.px(kSmallSize), context.theme.dim},
      mono{context.fonts.mono, context.px(kBodySize), context.theme.text},
      mono_note{context.fonts.mono, context.px(kSmallSize), context.theme.dim} {}

float page_title(const Context& context, const std::string& title, ImVec2 at, float width, float reserve) {
  const Type type(context);
  const bool cut = reserve > 0 && text_width(type.title, title) > width - reserve;
  const float above = cut ? choice_row_height(context) + context.px(8) : 0;
  draw_text(ImGui::GetWindowDrawList(), {at.x, at.y + above}, type.title,
            fitted(type.title, title, cut ? width : width - reserve));
  return above + type.title.size;
}

void page_head(const Context& context, const std::string& title, const std::string& explanation,
               float reserve) {
  const Type type(context);
  const ImVec2 top = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const float below = top.y + page_title(context, title, top, width, reserve) + context.px(6);
  const float height =
      draw_wrapped(ImGui::GetWindowDrawList(), {top.x, below}, type.note, explanation, width);
  ImGui::Dummy({width, below + height - top.y});
}

WordRoom room_for_words(const Context& context, float width, float controls) {
  constexpr float kLeastForWords = 220;
  const bool alone = controls > 0 && width - controls < context.px(kLeastForWords);
  return {alone ? width : width - controls, alone};
}

ImVec2 Rows::place(float width, float gap) {
  if (at_.x > left_ && at_.x + width > right_) at_ = {left_, at_.y + line_};
  const ImVec2 place = at_;
  at_.x += width + gap;
  return place;
}

float draw_sideways(const Context& context, const char* id, ImVec2 at, float width, float least,
                    const std::function<float(ImVec2 at, float width)>& draw) {
  if (width >= least) return draw(at, width);
  ImGui::SetCursorScreenPos(at);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
  if (ImGui::BeginChild(id, {width, 0}, ImGuiChildFlags_AutoResizeY, ImGuiWindowFlags_HorizontalScrollbar)) {
    const ImVec2 from = ImGui::GetCursorScreenPos();
    const float height = draw(from, least);
    ImGui::SetCursorScreenPos(from);
    ImGui::Dummy({least, height + context.px(4)});
  }
  ImGui::EndChild();
  ImGui::PopStyleVar();
  return ImGui::GetItemRectSize().y;
}

float choice_row_height(const Context& context) {
  return std::round(context.px(26));
}

float choice_row_width(const Context& context, std::span<const std::string> labels) {
  const Type type(context);
  float width = 0;
  for (const auto& label : labels) width += std::round(text_width(type.note, label) + context.px(20));
  return width;
}

int choice_row(const Context& context, const char* id, ImVec2 at, std::span<const std::string> labels,
               int taken) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float height = choice_row_height(context), radius = context.px(5);
  const ImVec2 cursor = ImGui::GetCursorScreenPos();
  fill_rect(list, at, {at.x + choice_row_width(context, labels), at.y + height}, theme.card, radius);
  int clicked = -1;
  for (size_t i = 0; i < labels.size(); ++i) {
    const float width = std::round(text_width(type.note, labels[i]) + context.px(20));
    ImGui::SetCursorScreenPos(at);
    ImGui::PushID(id);
    if (click_area(labels[i].c_str(), {width, height})) clicked = static_cast<int>(i);
    ImGui::PopID();
    const ImVec2 end(at.x + width, at.y + height);
    const bool is_taken = static_cast<int>(i) == taken;
    const bool hovered = ImGui::IsItemHovered();
    if (is_taken) fill_rect(list, at, end, theme.forward, radius);
    if (hovered && !is_taken) fill_rect(list, at, end, theme.line, radius);
    const ImU32 ink = is_taken ? legible_on(theme, theme.forward) : hovered ? theme.text : theme.dim;
    draw_text(list, {at.x + width / 2, at.y + (height - type.note.size) / 2}, in(type.note, ink), labels[i],
              Align::Centre);
    at.x += width;
  }
  ImGui::SetCursorScreenPos(cursor);
  return clicked;
}

float small_button_height(const Context& context) {
  return std::round(context.px(24));
}

void copy_button(const Context& context, const char* id, ImVec2 right_top, const MakeTable& make) {
  copy_menu_button(context, id, right_top, [&] { copy_entries("", make); });
}

void copy_menu_button(const Context& context, const char* id, ImVec2 right_top,
                      const std::function<void()>& draw_entries) {
  const ImVec2 cursor = ImGui::GetCursorScreenPos();
  const Type type(context);
  const float width = text_width(type.note, "Copy") + context.px(20);
  if (right_top.x - width < ImGui::GetWindowPos().x) return;
  ImGui::PushID(id);
  ImGui::SetCursorScreenPos({std::round(right_top.x - width), right_top.y});
  ImGui::PushFont(nullptr, kSmallSize);
  ImGui::PushStyleColor(ImGuiCol_Text, context.theme.dim);
  if (ImGui::Button("Copy", {width, small_button_height(context)})) ImGui::OpenPopup("menu");
  ImGui::PopStyleColor();
  ImGui::PopFont();
  if (ImGui::BeginPopup("menu")) {
    draw_entries();
    ImGui::EndPopup();
  }
  ImGui::PopID();
  ImGui::SetCursorScreenPos(cursor);
}

bool begin_fact_tooltip(const Context& context, const std::string& title, const std::string& words) {
  if (!ImGui::BeginTooltip()) return false;
  ImGui::PushFont(context.fonts.bold, kBodySize);
  ImGui::TextUnformatted(title.c_str());
  ImGui::PopFont();
  ImGui::SameLine();
  ImGui::PushStyleColor(ImGuiCol_Text, context.theme.dim);
  ImGui::TextUnformatted(words.c_str());
  ImGui::PopStyleColor();
  ImGui::PushFont(context.fonts.mono, kSmallSize);
  return true;
}

void end_fact_tooltip() {
  ImGui::PopFont();
  ImGui::EndTooltip();
}

ImU32 deepened(ImU32 Theme::*token, float amount) {
  return mixed(theme(ThemeName::Dark).*token, theme(ThemeName::Light).*token, amount);
}

ImU32 kind_colour(const Theme& theme, MemoryKind kind) {
  switch (kind) {
    case MemoryKind::Input:
      return theme.faint;
    case MemoryKind::Weight:
      return deepened(&Theme::forward, 0);
    case MemoryKind::WeightGradient:
      return deepened(&Theme::forward, 0.55f);
    case MemoryKind::OptimizerState:
      return deepened(&Theme::forward, 0.85f);
    case MemoryKind::KeyValueCache:
      return deepened(&Theme::agreement, 0.7f);
    case MemoryKind::Activation:
      return deepened(&Theme::agreement, 0.25f);
    case MemoryKind::ActivationGradient:
      return deepened(&Theme::backward, 0.15f);
    case MemoryKind::Workspace:
      return deepened(&Theme::backward, 0.7f);
  }
  return theme.faint;
}

void rule(const Context& context, ImVec2 at, float width) {
  const float y = std::round(at.y) + 0.5f;
  ImGui::GetWindowDrawList()->AddLine({at.x, y}, {at.x + width, y}, context.theme.line, 1);
}

}  // namespace shardlens::ui
