// Copies a table from the screen as text for a report: aligned columns or Markdown. Every table on the screen
// uses this.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ui/widgets/paint.h"

namespace shardlens::ui {

/// Cells as shown on the screen. Columns are aligned Left or Right.
struct TextTable {
  struct Column {
    std::string name;
    Align align = Align::Left;
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

/// Puts `text` on the clipboard. `what` describes it: "12 rows as text".
void copy_text(const std::string& text, const std::string& what);
/// Returns the description of what was copied since the last call, for a message; empty if nothing was.
std::string take_copied();

/// Returns columns padded with blanks to the widest cell, with two blanks between them and a rule under the
/// names.
std::string to_plain_text(const TextTable& table);
/// Returns a Markdown table; a `|` inside a cell is escaped.
std::string to_markdown(const TextTable& table);

/// Makes the table, with full texts even if the screen shortens them. Called when a person copies.
using MakeTable = std::function<TextTable()>;

/// Makes the table drawn in [min, max] of the current window copyable: a right click opens a menu, and Ctrl+C
/// copies it as text while the mouse is over it. `id` must be unique in the window.
void copyable_table(const char* id, ImVec2 min, ImVec2 max, const MakeTable& make);

/// Adds the entries "as text" and "as Markdown" to a menu, with `what` before them if it is not empty.
void copy_entries(const std::string& what, const MakeTable& make);

}  // namespace shardlens::ui
