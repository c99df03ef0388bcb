// A table of text.
#include "app/cli/table.h"

#include <algorithm>
#include <utility>

#include "engine/config/utf8.h"

namespace shardlens::cli {

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  rows_.push_back(std::move(titles));
}

void Table::add(std::vector<std::string> cells) {
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<size_t> widths(columns_.size());
  for (const auto& row : rows_)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], character_count(row[i]));
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - character_count(row[i]), ' ');
      line += (i == 0 ? "" : "  ") + (columns_[i].to_the_right ? blanks + row[i] : row[i] + blanks);
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return out;
}

}  // namespace shardlens::cli
