// The numbers that a person types into the example "by hand": their names, what they begin with, and how
// typed and pasted text is read.
#include <fmt/format.h>

#include <charconv>
#include <vector>

#include "engine/base/error.h"
#include "engine/device/philox.h"
#include "engine/laboratory/by_hand.h"

namespace shardlens::lab {
namespace {

constexpr int kRandomLimit = 3;  // small enough to multiply in one's head
constexpr std::string_view kMinusSign = "\u2212";

struct OperandRow {
  const char* words;   ///< on screen
  const char* tensor;  ///< in the Program
};
constexpr std::array<OperandRow, kHandOperands> kRows{{
    {"X", "X"},
    {"Wfc", "transformer.h.0.mlp.c_fc.weight"},
    {"b of Wfc", "transformer.h.0.mlp.c_fc.bias"},
    {"Wproj", "transformer.h.0.mlp.c_proj.weight"},
    {"b of Wproj", "transformer.h.0.mlp.c_proj.bias"},
    {"dY", "grad.Y"},
}};

using Values = std::array<int, kHandSize * kHandSize>;

/// Each rank's term of a sum differs from the other's in sign or size, and no bias is 0.
constexpr std::array<Values, kHandOperands> kChosen{{
    {1, 0, -1, 1, -2, 0, 1, 2, 1, 1, -1, 0, 0, 0, 1, 2},
    {2, 0, -1, 3, 0, 2, 0, 0, 2, 3, -1, 1, 0, 1, 0, 2},
    {1, -1, 2, 1},
    {2, -1, 0, 1, 0, 1, 1, -2, -1, 0, 2, 1, 1, 1, -1, 0},
    {1, 2, -1, 1},
    {1, -1, 0, 2, 0, 1, 2, -1, -1, 0, 1, 1, 2, 0, -1, 0},
}};

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == ',' || c == ';' || c == '\r';
}

/// Reads one number. "−3" with the typographic sign is −3 too: it may come from this page.
int read_number(std::string_view text) {
  const std::string shown(text);
  const auto refuse = [&](const char* what) -> Error {
    return request_error(fmt::format("“{}” is {}; type a whole number from \u2212{} to {}", shown, what,
                                     kHandLimit, kHandLimit));
  };
  std::string digits(text);
  if (text.starts_with(kMinusSign)) digits = "-" + digits.substr(kMinusSign.size());
  if (digits.starts_with('+')) digits.erase(0, 1);
  int value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, problem] = std::from_chars(digits.data(), end, value);
  if (problem == std::errc::result_out_of_range) throw refuse("too large");
  if (problem != std::errc() || stop != end) throw refuse("no whole number");
  if (value > kHandLimit || value < -kHandLimit) throw refuse("too large");
  return value;
}

/// The rows of the text, each with its numbers. Empty lines at the end do not count.
std::vector<std::vector<int>> read_rows(std::string_view text) {
  std::vector<std::vector<int>> rows;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::vector<int> row;
    for (;;) {
      while (!line.empty() && is_space(line.front())) line.remove_prefix(1);
      if (line.empty()) break;
      size_t length = 0;
      while (length < line.size() && !is_space(line[length])) ++length;
      row.push_back(read_number(line.substr(0, length)));
      line.remove_prefix(length);
    }
    rows.push_back(std::move(row));
  }
  while (!rows.empty() && rows.back().empty()) rows.pop_back();
  return rows;
}

}  // namespace

int64_t rows_of(HandOperand operand) {
  return operand == HandOperand::FcBias || operand == HandOperand::ProjBias ? 1 : kHandSize;
}

std::string to_string(HandOperand operand) {
  return kRows[static_cast<size_t>(operand)].words;
}

std::string tensor_name(HandOperand operand) {
  return kRows[static_cast<size_t>(operand)].tensor;
}

HandOperands hand_operands(HandNumbers numbers, uint64_t seed) {
  HandOperands operands;
  if (numbers == HandNumbers::Chosen) operands.values = kChosen;
  for (size_t i = 0; i < kHandOperands && numbers != HandNumbers::Chosen; ++i) {
    const auto operand = static_cast<HandOperand>(i);
    const int64_t rows = rows_of(operand);
    std::array<double, kHandSize * kHandSize> drawn{};
    fill_integers(RandomStream(seed, to_string(operand)), kRandomLimit, 0, rows * kHandSize, DType::Fp64,
                  drawn.data());
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t col = 0; col < kHandSize; ++col)
        operands.at(operand, row, col) =
            numbers == HandNumbers::Ones ? 1
            : numbers == HandNumbers::Random
                ? static_cast<int>(drawn[static_cast<size_t>(row * kHandSize + col)])
                : static_cast<int>(rows > 1 && row == col);
  }
  return operands;
}

std::string typed_text(const HandOperands& operands, HandOperand operand) {
  std::string text;
  for (int64_t row = 0; row < rows_of(operand); ++row) {
    if (row > 0) text += '\n';
    for (int64_t col = 0; col < kHandSize; ++col)
      text += fmt::format("{}{}", col > 0 ? "\t" : "", operands.at(operand, row, col));
  }
  return text;
}

void type_into(HandOperands& operands, HandOperand operand, int64_t row, int64_t col, std::string_view text) {
  const std::vector<std::vector<int>> rows = read_rows(text);
  if (rows.empty())
    throw request_error(
        fmt::format("there is no number; type a whole number from \u2212{} to {}", kHandLimit, kHandLimit));
  const int64_t last_row = row + std::ssize(rows);
  if (last_row > rows_of(operand))
    throw request_error(
        fmt::format("{} rows from row {} on do not fit into {}, which has {} of them; paste fewer, "
                    "or begin at row 0",
                    rows.size(), row, to_string(operand), rows_of(operand)));
  HandOperands typed = operands;
  for (size_t r = 0; r < rows.size(); ++r) {
    if (col + std::ssize(rows[r]) > kHandSize)
      throw request_error(
          fmt::format("{} numbers from column {} on do not fit into {}, which has {} columns; "
                      "paste fewer, or begin at column 0",
                      rows[r].size(), col, to_string(operand), kHandSize));
    for (size_t c = 0; c < rows[r].size(); ++c)
      typed.at(operand, row + static_cast<int64_t>(r), col + static_cast<int64_t>(c)) = rows[r][c];
  }
  operands = typed;
}

}  // namespace shardlens::lab
