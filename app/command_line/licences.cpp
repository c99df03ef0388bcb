// Reads the tables of THIRD_PARTY.md, which the build embeds.
#include "app/command_line/licences.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "app/command_line/help.h"
#include "engine/config/assets.h"

namespace shardlens {

std::span<const EmbeddedFile> embedded_notices();  // by the build

namespace cli {
namespace {

constexpr size_t kTextColumns = 100;
constexpr size_t kCells = 5;

struct Row {
  std::string what, use, licence, in;
};

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (size_t at = line.find('|'); at != line.npos;) {
    const size_t end = line.find('|', at + 1);
    if (end == line.npos) break;
    cells.push_back(trimmed(line.substr(at + 1, end - at - 1)));
    at = end;
  }
  return cells;
}

std::vector<Row> rows_of(std::string_view notices) {
  std::vector<Row> rows;
  while (!notices.empty()) {
    const size_t end = std::min(notices.find('\n'), notices.size());
    const std::vector<std::string_view> cells = cells_of(notices.substr(0, end));
    notices.remove_prefix(std::min(end + 1, notices.size()));
    if (cells.size() != kCells || cells[3] == "in" || cells[3] == "---") continue;
    rows.push_back(
        {std::string(cells[0]), std::string(cells[1]), std::string(cells[2]), std::string(cells[3])});
  }
  return rows;
}

std::string list(const std::vector<Row>& rows, const std::string& where, const std::string& also = {}) {
  std::string text;
  for (const Row& row : rows)
    if (row.in == where || (!also.empty() && row.in == also))
      text += hanging(fmt::format("  {:<32} ", row.what), fmt::format("{} ({})", row.licence, row.use),
                      kTextColumns) +
              "\n";
  return text;
}

}  // namespace

std::string licences_text(const std::string& program, std::string_view notices) {
  const std::vector<Row> rows = rows_of(notices);
  const bool is_studio = program == "shardlens";
  return fmt::format(
      "{} is under the Apache License 2.0. It contains, or brings as libraries:\n{}"
      "From the machine, if it has them:\n{}"
      "Programs that it starts:\n{}"
      "The licence texts: /usr/share/doc/PACKAGE/copyright on Debian, and in the sources that "
      "app/setup.sh unpacks.",
      program, list(rows, "both", is_studio ? "studio" : ""), list(rows, "machine"), list(rows, "started"));
}

void add_licences(CLI::App& app) {
  const std::string program = app.get_name();
  app.add_flag_callback(
         "--licences,--licenses",
         [program] {
           throw CLI::CallForVersion(
               licences_text(program, find_embedded(embedded_notices(), "THIRD_PARTY.md")), 0);
         },
         "Lists the works of others that this program contains, with their licences")
      ->configurable(false);
}

}  // namespace cli
}  // namespace shardlens
