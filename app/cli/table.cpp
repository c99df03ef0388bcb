// Lays out a table of text and shortens it to the width of a page.
#include "app/cli/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <sstream>
#include <utility>

#include "app/command_line/help.h"
#include "engine/base/utf8.h"

namespace shardlens::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::vector<size_t> widths_of(const Rows& rows, size_t columns) {
  std::vector<size_t> widths(columns);
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], character_count(row[i]));
  return widths;
}

bool is_figure(const std::string& word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) { return isdigit(c); });
}

// Joins the words with dots. Neighbouring words that are left out become one "…".
std::string words_of_line(const std::vector<std::string>& words, const std::vector<bool>& left_out) {
  std::string name;
  for (size_t i = 0; i < words.size(); ++i) {
    if (left_out[i] && i > 0 && left_out[i - 1]) continue;
    name += (i == 0 ? "" : ".") + (left_out[i] ? "…" : words[i]);
  }
  return name;
}

Rows with_names_shortened(Rows rows, size_t column, size_t most) {
  for (auto row = rows.begin() + 1; row != rows.end(); ++row)
    if (column < row->size()) (*row)[column] = shortened((*row)[column], most);
  return rows;
}

// Breaks a text that does not fit into further rows.
Rows with_texts_folded(const Rows& rows, size_t column, size_t most) {
  Rows folded;
  for (const auto& row : rows) {
    folded.push_back(row);
    if (column >= row.size() || character_count(row[column]) <= most) continue;
    std::istringstream lines(broken_into_lines(row[column], most));
    std::getline(lines, folded.back()[column]);
    for (std::string line; std::getline(lines, line);) {
      folded.emplace_back(column + 1);
      folded.back()[column] = line;
    }
  }
  return folded;
}

}  // namespace

std::string shortened(const std::string& name_and_shape, size_t most) {
  const size_t space = name_and_shape.find(' ');
  std::string shape = space == std::string::npos ? "" : name_and_shape.substr(space);
  std::vector<std::string> words;
  std::istringstream name(name_and_shape.substr(0, space));
  for (std::string word; std::getline(name, word, '.');) words.push_back(word);
  if (words.empty()) return name_and_shape;
  std::vector<bool> left_out(words.size());
  const auto text = [&] { return words_of_line(words, left_out) + shape; };
  const auto is_too_long = [&] { return character_count(text()) > most; };
  // A short word is more useful than "…". Words before a number are left out last.
  const auto leave_out = [&](size_t shortest, bool before_figures) {
    for (size_t i = 1; i + 2 < words.size() && is_too_long(); ++i)
      if (words[i].size() >= shortest && !is_figure(words[i]) && is_figure(words[i + 1]) == before_figures)
        left_out[i] = true;
  };
  leave_out(3, false);
  if (const size_t form = words.back().find('@'); form != std::string::npos && is_too_long())
    words.back().replace(form, std::string::npos, "@…");  // the layout column shows it too
  if (is_too_long())
    for (size_t at; (at = shape.find(", ")) != std::string::npos;) shape.erase(at + 1, 1);
  leave_out(1, true);
  constexpr size_t kHead = 6, kTail = 5;  // letters of a long word that stay
  for (size_t i = 1; i < words.size() && is_too_long(); ++i)
    if (!left_out[i] && words[i].size() > kHead + kTail + 3 && words[i].find('@') == std::string::npos)
      words[i].replace(kHead, words[i].size() - kHead - kTail, "…");
  return text();
}

void print_hanging(const std::string& lead, const std::string& text) {
  fmt::print("{}\n", hanging(lead, text, Table::kMostColumns));
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  rows_.push_back(std::move(titles));
}

void Table::add(std::vector<std::string> cells) {
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  Rows rows = rows_;
  for (const Holds held : {Holds::Name, Holds::Text}) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::vector<size_t> widths = widths_of(rows, columns_.size());
      const size_t all = std::accumulate(widths.begin(), widths.end(), 2 * (widths.size() - 1));
      if (columns_[i].holds != held || all <= kMostColumns) continue;
      const size_t most = widths[i] - std::min(widths[i], all - kMostColumns);
      rows = held == Holds::Name ? with_names_shortened(rows, i, most) : with_texts_folded(rows, i, most);
    }
  }
  const std::vector<size_t> widths = widths_of(rows, columns_.size());
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - character_count(row[i]), ' ');
      line += (i == 0 ? "" : "  ") + (columns_[i].holds == Holds::Number ? blanks + row[i] : row[i] + blanks);
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return out;
}

}  // namespace shardlens::cli
