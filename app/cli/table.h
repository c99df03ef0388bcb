// A table of text with aligned columns.
#pragma once

#include <string>
#include <vector>

namespace shardlens::cli {

/// A table of text. Each column is as wide as its longest cell, with two spaces between columns and none at
/// the end of a line. A table wider than kMostColumns shortens its names; if that is not enough, its texts
/// continue on a further line.
class Table {
 public:
  static constexpr size_t kMostColumns = 100;

  enum class Holds {
    Anything,
    Number,  ///< right-aligned
    Name,    ///< a tensor's name and shape, see shortened()
    Text,    ///< words; a line may end between two of them
  };
  struct Column {
    std::string title;
    Holds holds = Holds::Anything;
  };

  explicit Table(std::vector<Column> columns);
  /// Adds a row, one cell for each column.
  void add(std::vector<std::string> cells);
  std::string text() const;  ///< with its titles; ends with a line end

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Prints `lead` and then `text` in lines at most as wide as a table; see hanging(). The output is the same
/// on a terminal and in a pipe, because programs read --json.
void print_hanging(const std::string& lead, const std::string& text);

/// Shortens "grad.bert.encoder.layer.0.output.dense.weight [512, 128]" to at most `most` characters if
/// possible. Words in the middle of the name become "…", and last the middle of a long word. The first word,
/// the last two words and all numbers stay.
std::string shortened(const std::string& name_and_shape, size_t most);

}  // namespace shardlens::cli
