// A table as text, so that what is on the screen can be pasted into a report: aligned columns or Markdown.
// Every table on the screen is copied in the one way that is here.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ui/widgets/paint.h"

namespace shardlens::ui {

/// Cells as they stand on the screen. Columns are aligned Left or Right.
struct TextTable {
  struct Column {
    std::string name;
    Align align = Align::Left;
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

/// Puts `text` on the clipboard; "12 rows as text" says what was copied.
void copy_text(const std::string& text, const std::string& what);
/// What was copied since the last call, so that the frame can say it; empty: nothing.
std::string take_copied();

/// Columns padded with blanks to the widest cell, two blanks between them, a rule under the names.
std::string to_plain_text(const TextTable& table);
/// A Markdown table; a `|` inside a cell is escaped.
std::string to_markdown(const TextTable& table);

/// Makes the table, with whole texts where the screen shortens them. Called when something is copied.
using MakeTable = std::function<TextTable()>;

/// What was drawn in [min, max] of the current window is a table: a right click offers to copy it, and Ctrl+C
/// copies it as text while the mouse is over it. `id`: its own in the window.
void copyable_table(const char* id, ImVec2 min, ImVec2 max, const MakeTable& make);

/// The entries "as text" and "as Markdown" of a menu, with `what` before them when it is not empty.
void copy_entries(const std::string& what, const MakeTable& make);

}  // namespace shardlens::ui
