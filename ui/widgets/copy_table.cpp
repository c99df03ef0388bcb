// Writes tables as aligned text and as Markdown, and handles the menu and the key that copy them.
#include "ui/widgets/copy_table.h"

#include <algorithm>
#include <utility>

#include "engine/base/counted.h"
#include "engine/base/utf8.h"

namespace shardlens::ui {
namespace {

std::string padded(const std::string& cell, size_t width, Align align) {
  const std::string blanks(width - std::min(width, character_count(cell)), ' ');
  return align == Align::Right ? blanks + cell : cell + blanks;
}

std::string escaped(const std::string& cell) {
  std::string text;
  for (char c : cell) {
    if (c == '|') text += '\\';
    text += c;
  }
  return text;
}

/// Describes the last copy_text() until take_copied() is called.
std::string copied;

void copy_as_text(const TextTable& table) {
  copy_text(to_plain_text(table), counted(std::ssize(table.rows), "row") + " as text");
}

}  // namespace

void copy_text(const std::string& text, const std::string& what) {
  ImGui::SetClipboardText(text.c_str());
  copied = what;
}

std::string take_copied() {
  return std::exchange(copied, {});
}

std::string to_plain_text(const TextTable& table) {
  std::vector<size_t> widths;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    size_t width = character_count(table.columns[c].name);
    for (const auto& row : table.rows) width = std::max(width, character_count(row[c]));
    widths.push_back(width);
  }
  std::string text;
  auto add_line = [&](auto cell_of) {
    std::string line;
    for (size_t c = 0; c < table.columns.size(); ++c) {
      if (c > 0) line += "  ";
      line += padded(cell_of(c), widths[c], table.columns[c].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line([&](size_t c) { return table.columns[c].name; });
  add_line([&](size_t c) { return std::string(widths[c], '-'); });
  for (const auto& row : table.rows) add_line([&](size_t c) { return row[c]; });
  return text;
}

std::string to_markdown(const TextTable& table) {
  std::string text = "|", rule = "|";
  for (const auto& column : table.columns) {
    text += " " + escaped(column.name) + " |";
    rule += column.align == Align::Right ? " ---: |" : " --- |";
  }
  text += "\n" + rule + "\n";
  for (const auto& row : table.rows) {
    text += "|";
    for (const auto& cell : row) text += " " + escaped(cell) + " |";
    text += "\n";
  }
  return text;
}

void copy_entries(const std::string& what, const MakeTable& make) {
  const std::string before = what.empty() ? "" : what + " ";
  if (ImGui::MenuItem((before + "as text").c_str())) copy_as_text(make());
  if (ImGui::MenuItem((before + "as Markdown").c_str())) {
    const TextTable table = make();
    copy_text(to_markdown(table), counted(std::ssize(table.rows), "row") + " as Markdown");
  }
}

void copyable_table(const char* id, ImVec2 min, ImVec2 max, const MakeTable& make) {
  ImGui::PushID(id);
  if (ImGui::IsWindowHovered(ImGuiHoveredFlags_ChildWindows) && ImGui::IsMouseHoveringRect(min, max)) {
    if (ImGui::IsMouseReleased(ImGuiMouseButton_Right)) ImGui::OpenPopup("copy");
    if (!ImGui::GetIO().WantTextInput && ImGui::IsKeyChordPressed(ImGuiMod_Ctrl | ImGuiKey_C))
      copy_as_text(make());
  }
  if (ImGui::BeginPopup("copy")) {
    copy_entries("Copy", make);
    ImGui::EndPopup();
  }
  ImGui::PopID();
}

}  // namespace shardlens::ui
