// The shortcut sheet: every command that has a key, by group, straight from the table.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ui/commands/commands.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {
namespace {

constexpr float kColumnWidth = 384;
constexpr float kKeyWidth = 104;
constexpr float kRowHeight = 22;
constexpr float kTitleHeight = 36;
constexpr float kGroupGap = 16;
constexpr float kHeadingHeight = 40;
constexpr float kPadding = 24;

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
  // The keys that count, Ctrl+1 to Ctrl+9, stand together in their order, wherever their commands were added.
  const auto counts = [](const Line& line) {
    return line.keys.starts_with("Ctrl+") && line.keys.size() == 6 && line.keys[5] >= '1' &&
           line.keys[5] <= '9';
  };
  const auto first = std::find_if(lines.begin(), lines.end(), counts);
  std::sort(first, std::stable_partition(first, lines.end(), counts),
            [](const Line& a, const Line& b) { return a.keys < b.keys; });
  return lines;
}

/// `unit`: pixels to a unit of length, the scale unless the sheet must shrink to fit its window.
float group_height(float unit, const std::vector<Line>& lines) {
  return unit * (kTitleHeight + kRowHeight * static_cast<float>(lines.size()));
}

void draw_group(const Context& context, float unit, ImVec2 at, CommandGroup group,
                const std::vector<Line>& lines) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const TextStyle title{context.fonts.bold, unit * kBodySize, context.theme.text};
  const TextStyle key{context.fonts.mono, unit * kBodySize, context.theme.forward};
  const TextStyle words{context.fonts.body, unit * kBodySize, context.theme.text};
  draw_text(list, at, title, to_string(group));
  at.y += unit * (kTitleHeight - 4);
  for (const Line& line : lines) {
    draw_text(list, at, key, line.keys);
    draw_text(list, {at.x + unit * kKeyWidth, at.y}, words, line.title);
    at.y += unit * kRowHeight;
  }
}

}  // namespace

void draw_sheet(const Context& context) {
  ViewState& view = context.view;
  if (!view.sheet_open) return;
  // Three columns, so that a small window shows them in type of full size: what acts, what shows, what
  // replays.
  const std::array<std::vector<CommandGroup>, 3> columns{
      {{CommandGroup::Walk, CommandGroup::Run, CommandGroup::Train, CommandGroup::Settings},
       {CommandGroup::View},
       {CommandGroup::Replay}}};
  float height = 0;  // of the higher column, in units
  for (const auto& groups : columns) {
    float column_height = -kGroupGap;
    for (const CommandGroup group : groups) column_height += group_height(1, lines_of(group)) + kGroupGap;
    height = std::max(height, column_height);
  }
  const ImVec2 wanted{columns.size() * kColumnWidth + 2 * kPadding, height + kHeadingHeight + 2 * kPadding};
  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  const float room = std::min(viewport.Size.x / wanted.x, viewport.Size.y / wanted.y) * 0.98f;
  const float unit = std::min(context.px(1), room);
  begin_cover(context, "Shortcuts",
              {viewport.Pos.x + viewport.Size.x / 2, viewport.Pos.y + viewport.Size.y / 2}, {0.5f, 0.5f},
              {std::ceil(wanted.x * unit), std::ceil(wanted.y * unit)}, kPadding * unit,
              ImGuiWindowFlags_NoScrollbar);
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const TextStyle heading{context.fonts.bold, unit * 20, context.theme.text};
  const TextStyle hint{context.fonts.body, unit * kSmallSize, context.theme.dim};
  draw_text(list, origin, heading, "Keys");
  draw_text(list, {origin.x + ImGui::GetContentRegionAvail().x, origin.y + unit * 4}, hint,
            "Esc closes \u00B7 Ctrl+P finds every command by name", Align::Right);
  for (size_t column = 0; column < columns.size(); ++column) {
    ImVec2 at{origin.x + static_cast<float>(column) * unit * kColumnWidth, origin.y + unit * kHeadingHeight};
    for (const CommandGroup group : columns[column]) {
      const std::vector<Line> lines = lines_of(group);
      draw_group(context, unit, at, group, lines);
      at.y += group_height(unit, lines) + unit * kGroupGap;
    }
  }
  if (end_cover()) view.close_covers();
}

}  // namespace shardlens::ui
