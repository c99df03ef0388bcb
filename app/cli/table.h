// Columns that stand under each other, whatever is in them.
#pragma once

#include <string>
#include <vector>

namespace shardlens::cli {

/// A table of text: each column as wide as the longest of its cells, two spaces between them, none at the
/// end of a line. One that would be wider than kMostColumns shortens its names; where that is not enough, it
/// goes on with its texts on a further line.
class Table {
 public:
  static constexpr size_t kMostColumns = 100;

  enum class Holds {
    Anything,
    Number,  ///< stands to the right
    Name,    ///< a tensor's, and its shape: as in shortened()
    Text,    ///< of words, between which a line may end
  };
  struct Column {
    std::string title;
    Holds holds = Holds::Anything;
  };

  explicit Table(std::vector<Column> columns);
  /// One cell a column.
  void add(std::vector<std::string> cells);
  std::string text() const;  ///< with its titles; ends with a line end

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Prints `lead` and then `text`, in lines as wide as a table's at most; see hanging(). The same on a
/// terminal as into a pipe: what a program reads is --json.
void print_hanging(const std::string& lead, const std::string& text);

/// "grad.bert.encoder.layer.0.output.dense.weight [512, 128]" in at most `most` characters where that is
/// possible: words in the middle of the name become "…", and as a last resort the middle of a long word. The
/// first word and the last two stay, and all figures.
std::string shortened(const std::string& name_and_shape, size_t most);

}  // namespace shardlens::cli
