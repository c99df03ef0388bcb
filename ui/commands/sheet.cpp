// The shortcut sheet: draws every command of the table that has a key, by group.
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ui/commands/commands.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {
namespace {

constexpr float kColumnWidth = 384;
constexpr float kKeyWidth = 104;
constexpr float kLineHeight = 21;
constexpr float kTitleHeight = 36;
constexpr float kGroupGap = 16;
constexpr float kHeadingHeight = 40;
constexpr float kPadding = 24;
constexpr float kLeastShare =
    0.9f;  ///< the smallest share of its full size; if that is too large, the sheet scrolls

/// "1 2 3 4 6 8" stands for the six commands that set T, so the sheet shows them as one.
struct Line {
  std::string keys;
  std::string title;
};

std::vector<Line> lines_of(CommandGroup group) {
  std::vector<Line> lines;
  Line degrees{"", "Set T, the number of ranks"}, hands{"1 \u2026 9", "In class: count a raised hand"};
  for (const UiCommand& command : commands()) {
    if (command.group != group || command.keys.empty()) continue;
    if (command.id.starts_with("settings.tp.")) {
      degrees.keys += (degrees.keys.empty() ? "" : " ") + key_text(command.keys.front());
    } else if (command.id.starts_with("lesson.hand_") && command.id != "lesson.hand_back") {
      if (command.id.ends_with("_1")) lines.push_back(hands);
    } else {
      lines.push_back({key_text(command.keys.front()), command.title});
    }
  }
  if (!degrees.keys.empty()) lines.push_back(degrees);
  // Ctrl+1 to Ctrl+9 are listed together and in order, no matter where their commands were added.
  const auto counts = [](const Line& line) {
    return line.keys.starts_with("Ctrl+") && line.keys.size() == 6 && line.keys[5] >= '1' &&
           line.keys[5] <= '9';
  };
  const auto first = std::find_if(lines.begin(), lines.end(), counts);
  std::sort(first, std::stable_partition(first, lines.end(), counts),
            [](const Line& a, const Line& b) { return a.keys < b.keys; });
  return lines;
}

/// `unit`: pixels for one unit of length. It is the scale, unless the sheet must shrink to fit its window.
float group_height(float unit, const std::vector<Line>& lines) {
  return unit * (kTitleHeight + kLineHeight * static_cast<float>(lines.size()));
}

void draw_group(const Context& context, float unit, ImVec2 at, CommandGroup group,
                const std::vector<Line>& lines) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const TextStyle title{context.fonts.bold, unit * kBodySize, context.theme.text};
  const TextStyle key{context.fonts.mono, unit * kBodySize, context.theme.forward};
  const TextStyle words{context.fonts.body, unit * kBodySize, context.theme.text};
  draw_text(list, at, title, title_of(group));
  at.y += unit * (kTitleHeight - 4);
  for (const Line& line : lines) {
    draw_text(list, at, key, line.keys);
    draw_text(list, {at.x + unit * kKeyWidth, at.y}, words, line.title);
    at.y += unit * kLineHeight;
  }
}

float column_height(const std::vector<CommandGroup>& groups) {
  float height = -kGroupGap;
  for (const CommandGroup group : groups) height += group_height(1, lines_of(group)) + kGroupGap;
  return height;
}

/// Returns the groups of each column. There are three columns if they fit into `width` units; otherwise the
/// last column moves below the shortest of the others.
std::vector<std::vector<CommandGroup>> columns_in(float width) {
  std::vector<std::vector<CommandGroup>> columns{
      {CommandGroup::Walk, CommandGroup::Run, CommandGroup::Train, CommandGroup::Settings},
      {CommandGroup::View},
      {CommandGroup::Lesson, CommandGroup::Replay}};
  while (columns.size() > 1 &&
         kLeastShare * (static_cast<float>(columns.size()) * kColumnWidth + 2 * kPadding) > width) {
    const std::vector<CommandGroup> last = columns.back();
    columns.pop_back();
    auto& shortest = *std::min_element(columns.begin(), columns.end(), [](const auto& a, const auto& b) {
      return column_height(a) < column_height(b);
    });
    shortest.insert(shortest.end(), last.begin(), last.end());
  }
  return columns;
}

}  // namespace

void draw_sheet(const Context& context) {
  ViewState& view = context.view;
  if (!view.sheet_open) return;
  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  const ImVec2 most{viewport.Size.x * 0.98f, viewport.Size.y * 0.98f};
  const auto columns = columns_in(most.x / context.px(1));
  float height = 0;  // height of the tallest column, in units
  for (const auto& groups : columns) height = std::max(height, column_height(groups));
  const ImVec2 wanted{static_cast<float>(columns.size()) * kColumnWidth + 2 * kPadding,
                      height + kHeadingHeight + 2 * kPadding};
  const float room = std::min(most.x / wanted.x, std::max(most.y / wanted.y, kLeastShare * context.px(1)));
  const float unit = std::min(context.px(1), room);
  const bool scrolls = wanted.y * unit > most.y;
  begin_cover(context, "Shortcuts",
              {viewport.Pos.x + viewport.Size.x / 2, viewport.Pos.y + viewport.Size.y / 2}, {0.5f, 0.5f},
              {std::ceil(wanted.x * unit), std::ceil(std::min(wanted.y * unit, most.y))}, kPadding * unit,
              ImGuiWindowFlags_NoScrollbar);
  ImVec2 origin = ImGui::GetCursorScreenPos();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const TextStyle heading{context.fonts.bold, unit * 20, context.theme.text};
  const TextStyle hint{context.fonts.body, unit * kSmallSize, context.theme.dim};
  draw_text(list, origin, heading, "Keys");
  draw_text(list, {origin.x + ImGui::GetContentRegionAvail().x, origin.y + unit * 4}, hint,
            scrolls ? "\u2191 \u2193 or the wheel show the rest \u00B7 Esc closes"
                    : "Esc closes \u00B7 Ctrl+P finds every command by name",
            Align::Right);
  ImGui::SetCursorScreenPos({origin.x, origin.y + unit * kHeadingHeight});
  ImGui::BeginChild("keys");
  if (ImGui::IsKeyPressed(ImGuiKey_DownArrow))
    ImGui::SetScrollY(ImGui::GetScrollY() + unit * 3 * kLineHeight);
  if (ImGui::IsKeyPressed(ImGuiKey_UpArrow)) ImGui::SetScrollY(ImGui::GetScrollY() - unit * 3 * kLineHeight);
  origin = ImGui::GetCursorScreenPos();
  for (size_t column = 0; column < columns.size(); ++column) {
    ImVec2 at{origin.x + static_cast<float>(column) * unit * kColumnWidth, origin.y};
    for (const CommandGroup group : columns[column]) {
      const std::vector<Line> lines = lines_of(group);
      draw_group(context, unit, at, group, lines);
      at.y += group_height(unit, lines) + unit * kGroupGap;
    }
  }
  ImGui::Dummy({1, height * unit});
  ImGui::EndChild();
  if (end_cover()) view.close_covers();
}

}  // namespace shardlens::ui
