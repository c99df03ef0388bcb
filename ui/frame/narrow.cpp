// Draws the row of panels of a narrow window: see narrow.h.
#include "ui/frame/narrow.h"

#include <icons_font_awesome_4.h>
#include <imgui.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <string>

#include "ui/commands/commands.h"
#include "ui/frame/side_panels.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {
namespace {

constexpr float kNarrowWindow = 600;  // at scale 1
constexpr float kRowHeight = 52;      // a finger needs 44
constexpr float kLineOfList = 44;

/// One cell of the row. Returns true if it was pressed.
bool draw_cell(const Context& c, const char* id, const char* icon, const std::string& words, ImVec2 min,
               ImVec2 size, bool is_front, const std::string& help) {
  ImGui::SetCursorScreenPos(min);
  const bool pressed = click_area(id, size);
  const ImU32 colour = is_front ? c.theme.text : c.theme.dim;
  const TextStyle sign{c.fonts.body, std::round(c.px(15)), colour};
  const TextStyle name{is_front ? c.fonts.bold : c.fonts.body, std::round(c.px(kSmallSize)), colour};
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const float middle = min.x + size.x / 2;
  draw_text(list, {middle, min.y + c.px(8)}, sign, icon, Align::Centre);
  draw_text(list, {middle, min.y + c.px(28)}, name, fitted(name, words, size.x - c.px(4)), Align::Centre);
  if (is_front)
    fill_rect(list, {min.x + c.px(8), min.y}, {min.x + size.x - c.px(8), min.y + c.px(3)}, c.theme.forward);
  tooltip(c, help);
  return pressed;
}

/// The list of all pages, above the row.
void draw_pages(const Context& c, bool opens, float bottom) {
  if (opens) ImGui::OpenPopup("pages");
  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  ImGui::SetNextWindowPos({viewport.Pos.x + c.px(8), bottom - c.px(4)}, ImGuiCond_Always, {0, 1});
  ImGui::SetNextWindowSizeConstraints({0, 0}, {FLT_MAX, std::max(c.px(120), bottom - c.px(16))});
  if (!ImGui::BeginPopup("pages")) return;
  for (const TabNames& names : kTabs) {
    const ImVec2 min = ImGui::GetCursorScreenPos();
    const std::string id = std::string("##") + names.word;
    const bool is_open = names.tab == c.view.tab;
    const float height = c.px(kLineOfList);
    if (ImGui::Selectable(id.c_str(), is_open, 0, {c.px(200), height})) show_tab(c, names.tab);
    const TextStyle style{is_open ? c.fonts.bold : c.fonts.body, c.px(kBodySize), c.theme.text};
    draw_text(ImGui::GetWindowDrawList(), {min.x + c.px(12), min.y + (height - style.size) / 2}, style,
              names.window);
  }
  ImGui::EndPopup();
}

}  // namespace

bool is_narrow(const ViewState& view) {
  return ImGui::GetMainViewport()->Size.x < kNarrowWindow * view.ui_scale();
}

float panel_row_height(const ViewState& view) {
  return is_narrow(view) ? std::floor(kRowHeight * view.ui_scale()) : 0;
}

void draw_panel_row(const Context& c) {
  struct Cell {
    const char *name, *icon, *command;
    bool is_needed;
    Front front;
  };
  const SidePanels needs = needs_of(c.view);
  const Cell panels[] = {
      {"Setup", ICON_FA_SLIDERS_H, "view.setup", needs.setup, Front::Setup},
      {"Inspector", ICON_FA_SEARCH_PLUS, "view.wide_inspector", needs.inspector, Front::Inspector},
      {"Timeline", ICON_FA_COLUMNS, "view.timeline", needs.timeline, Front::Timeline}};
  const auto shown = [&](const Cell& cell) { return cell.is_needed || cell.front == c.view.front; };
  const auto count = 2 + std::count_if(std::begin(panels), std::end(panels), shown);
  const ImVec2 room = ImGui::GetWindowSize(), at = ImGui::GetWindowPos();
  const ImVec2 size{std::floor(room.x / static_cast<float>(count)), room.y};
  ImVec2 min = at;
  const auto& page = names_of(c.view.tab);
  const bool is_page = c.view.front == Front::Page;
  const bool pressed =
      draw_cell(c, "page", ICON_FA_TH_LARGE, std::string(page.window) + "  " ICON_FA_CARET_UP, min, size,
                is_page, "The open page. Pressed again: all pages");
  if (pressed && !is_page) show_tab(c, page.tab);
  draw_pages(c, pressed && is_page, at.y);
  for (const Cell& cell : panels) {
    if (!shown(cell)) continue;
    min.x += size.x;
    const UiCommand& command = find_command(cell.command);
    if (draw_cell(c, cell.name, cell.icon, cell.name, min, size, c.view.front == cell.front, command.help))
      command.run(c);
  }
  min.x += size.x;
  const UiCommand& all = find_command("view.palette");
  if (draw_cell(c, "commands", ICON_FA_SEARCH, "Commands", min, size, false, all.help)) all.run(c);
}

}  // namespace shardlens::ui
