// The shortcut sheet: every command that has a key, by group, straight from the table.
#include <imgui.h>

#include <algorithm>
#include <array>

#include "ui/commands/commands.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {
namespace {

constexpr float kColumnWidth = 400;
constexpr float kKeyWidth = 104;
constexpr float kRowHeight = 26;
constexpr float kTitleHeight = 36;

/// "1 2 3 4 6 8" stands for the six commands that set T, so the sheet shows them as one.
struct Line {
  std::string keys;
  std::string title;
};

std::vector<Line> lines_of(CommandGroup group) {
  std::vector<Line> lines;
  Line degrees{"", "Set T, the number of ranks"};
  for (const UiCommand& command : commands()) {
    if (command.group != group || command.keys.empty()) continue;
    if (command.id.starts_with("settings.tp.")) {
      degrees.keys += (degrees.keys.empty() ? "" : " ") + key_text(command.keys.front());
    } else {
      lines.push_back({key_text(command.keys.front()), command.title});
    }
  }
  if (!degrees.keys.empty()) lines.push_back(degrees);
  return lines;
}

float group_height(const Context& context, const std::vector<Line>& lines) {
  return context.px(kTitleHeight) + context.px(kRowHeight) * static_cast<float>(lines.size());
}

void draw_group(const Context& context, ImVec2 at, CommandGroup group, const std::vector<Line>& lines) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const TextStyle title{context.fonts.bold, context.px(kBodySize), context.theme.text};
  const TextStyle key{context.fonts.mono, context.px(kBodySize), context.theme.forward};
  const TextStyle words{context.fonts.body, context.px(kBodySize), context.theme.text};
  draw_text(list, at, title, to_string(group));
  at.y += context.px(kTitleHeight - 4);
  for (const Line& line : lines) {
    draw_text(list, at, key, line.keys);
    draw_text(list, {at.x + context.px(kKeyWidth), at.y}, words, line.title);
    at.y += context.px(kRowHeight);
  }
}

}  // namespace

void draw_sheet(const Context& context) {
  ViewState& view = context.view;
  if (!view.sheet_open) return;
  // Two columns: walking, running and choosing on the left, looking on the right.
  const std::array<std::vector<CommandGroup>, 2> columns{
      {{CommandGroup::Walk, CommandGroup::Run, CommandGroup::Settings}, {CommandGroup::View}}};
  float height = 0;
  for (const auto& groups : columns) {
    float column_height = 0;
    for (const CommandGroup group : groups) {
      column_height += group_height(context, lines_of(group)) + (column_height > 0 ? context.px(16) : 0);
    }
    height = std::max(height, column_height);
  }
  const float padding = context.px(24);
  const float heading = context.px(40);
  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  const ImVec2 wanted{2 * context.px(kColumnWidth) + 2 * padding, height + heading + 2 * padding};
  const ImVec2 size{std::min(wanted.x, viewport.Size.x - context.px(16)),
                    std::min(wanted.y, viewport.Size.y - context.px(16))};
  begin_cover(context, "Shortcuts",
              {viewport.Pos.x + viewport.Size.x / 2, viewport.Pos.y + viewport.Size.y / 2}, {0.5f, 0.5f},
              size, padding, ImGuiWindowFlags_None);
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const TextStyle heading_style{context.fonts.bold, context.px(20), context.theme.text};
  const TextStyle hint{context.fonts.body, context.px(kSmallSize), context.theme.dim};
  draw_text(list, origin, heading_style, "Keys");
  draw_text(list, {origin.x + ImGui::GetContentRegionAvail().x, origin.y + context.px(4)}, hint,
            "Esc closes \u00B7 Ctrl+P finds every command by name", Align::Right);
  for (size_t column = 0; column < columns.size(); ++column) {
    ImVec2 at{origin.x + static_cast<float>(column) * context.px(kColumnWidth), origin.y + heading};
    for (const CommandGroup group : columns[column]) {
      const std::vector<Line> lines = lines_of(group);
      draw_group(context, at, group, lines);
      at.y += group_height(context, lines) + context.px(16);
    }
  }
  ImGui::Dummy({2 * context.px(kColumnWidth), height + heading});
  if (end_cover()) view.sheet_open = false;
}

}  // namespace shardlens::ui
