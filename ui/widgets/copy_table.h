// A table as text, so that what is on the screen can be pasted into a report: aligned columns or Markdown.
#pragma once

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

/// Columns padded with blanks to the widest cell, two blanks between them, a rule under the names.
std::string to_plain_text(const TextTable& table);
/// A Markdown table; a `|` inside a cell is escaped.
std::string to_markdown(const TextTable& table);

/// Characters (code points) in a UTF-8 text: what a monospaced column is wide.
size_t character_count(const std::string& text);

}  // namespace shardlens::ui
