// Reads and writes what a scene shows on the page "by hand": cuts, a mistake and numbers.
#include <fmt/format.h>

#include "engine/base/suggest.h"
#include "engine/lesson/read_blocks.h"

namespace shardlens {
namespace {

std::string operand_name(size_t index) {
  return lab::to_string(static_cast<lab::HandOperand>(index));
}

/// A matrix as a list of its rows; of one row, that row.
void read_operand(TableReader& reader, const std::string& name, lab::HandOperand operand,
                  lab::HandOperands& operands) {
  const int64_t rows = lab::rows_of(operand);
  const auto wrong = [&](const char* what) {
    const std::string row = fmt::format("[{} numbers]", lab::kHandSize);
    return reader.fail(
        name, fmt::format("must be {}{}", rows == 1 ? row : fmt::format("{} rows of {}", rows, row), what));
  };
  const TomlValue& value = reader.value(name);
  if (!value.is_list()) throw wrong("");
  const auto& list = std::get<TomlValue::List>(value.is);
  const bool is_row = !list.empty() && !list.front().is_list();
  const TomlValue::List whole = is_row ? TomlValue::List{value} : list;
  if (std::ssize(whole) != rows) throw wrong(", and has another number of rows");
  for (int64_t row = 0; row < rows; ++row) {
    const TomlValue& line = whole[static_cast<size_t>(row)];
    if (!line.is_list() || std::ssize(std::get<TomlValue::List>(line.is)) != lab::kHandSize)
      throw wrong(fmt::format(", and row {} is not", row).c_str());
    for (int64_t col = 0; col < lab::kHandSize; ++col) {
      const TomlValue& number = std::get<TomlValue::List>(line.is)[static_cast<size_t>(col)];
      try {
        lab::type_into(operands, operand, row, col, to_text(number));
      } catch (const Error& error) {
        throw reader.fail(name, error.what());
      }
    }
  }
}

TomlValue written_operand(const lab::HandOperands& operands, lab::HandOperand operand) {
  TomlValue::List rows;
  for (int64_t row = 0; row < lab::rows_of(operand); ++row) {
    TomlValue::List numbers;
    for (int64_t col = 0; col < lab::kHandSize; ++col)
      numbers.push_back({int64_t{operands.at(operand, row, col)}, 0});
    rows.push_back({std::move(numbers), 0});
  }
  return rows.size() == 1 ? rows.front() : TomlValue{std::move(rows), 0};
}

}  // namespace

lab::HandForm read_by_hand(const TomlValue& table, const std::string& file) {
  TableReader reader(table, file, "by_hand");
  lab::HandForm form;
  lab::HandChoice& choice = form.choice;
  if (reader.has("fc")) choice.fc = reader.word("fc", parse_cut);
  if (reader.has("proj")) choice.proj = reader.word("proj", parse_cut);
  if (reader.has("stream")) choice.stream = reader.word("stream", parse_norm_cut);
  choice.gelu = reader.flag_or("gelu", choice.gelu);
  for (size_t i = 0; i < lab::kHandOperands; ++i)
    if (const std::string name = operand_name(i); reader.has(name))
      read_operand(reader, name, static_cast<lab::HandOperand>(i), form.operands);
  if (reader.has("mistake")) {
    choice.mistake = reader.word("mistake", parse_fault);
    if (!lab::can_have(choice, *choice.mistake))
      throw reader.fail("mistake", "has no place in this example with these cuts");
  }
  reader.finish();
  return form;
}

std::string by_hand_as_toml(const lab::HandForm& form) {
  const lab::HandForm usual;
  std::vector<std::string> parts;
  const auto part = [&](const std::string& key, const std::string& value) {
    parts.push_back(
        fmt::format("{} = {}", key.find(' ') == std::string::npos ? key : '"' + key + '"', value));
  };
  const auto word = [&](const char* key, const std::string& value, const std::string& as_usual) {
    if (value != as_usual) part(key, '"' + value + '"');
  };
  word("fc", to_string(form.choice.fc), to_string(usual.choice.fc));
  word("proj", to_string(form.choice.proj), to_string(usual.choice.proj));
  word("stream", to_string(form.choice.stream), to_string(usual.choice.stream));
  if (form.choice.gelu != usual.choice.gelu) part("gelu", form.choice.gelu ? "true" : "false");
  if (form.choice.mistake) word("mistake", to_string(*form.choice.mistake), "");
  for (size_t i = 0; i < lab::kHandOperands; ++i)
    if (form.operands.values[i] != usual.operands.values[i])
      part(operand_name(i), to_text(written_operand(form.operands, static_cast<lab::HandOperand>(i))));
  return fmt::format("{{ {} }}", join(parts));
}

}  // namespace shardlens
