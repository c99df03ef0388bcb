// Columns that stand under each other, whatever is in them.
#pragma once

#include <string>
#include <vector>

namespace shardlens::cli {

/// A table of text: each column as wide as the longest of its cells, two spaces between them, none at the
/// end of a line.
class Table {
 public:
  struct Column {
    std::string title;
    bool to_the_right = false;  ///< as numbers stand
  };

  explicit Table(std::vector<Column> columns);
  /// One cell a column.
  void add(std::vector<std::string> cells);
  std::string text() const;  ///< with its titles; ends with a line end

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace shardlens::cli
