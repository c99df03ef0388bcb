// Bytes and pages are damaged in the file itself. Values, JSON and schema are changed through SQLite, so the
// file stays a valid database and the damage reaches our reader.
#include "tests/fuzz/recording_harm.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace shardlens::fuzz {
namespace {

namespace fs = std::filesystem;

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_all(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::string harm_any_bytes(const std::string& path, Random& random) {
  std::string bytes = read_all(path);
  const uint64_t count = 1 + below(random, 32);
  for (uint64_t i = 0; i < count && !bytes.empty(); ++i) {
    // Headers of the file and of its pages are where most depends on a byte.
    const uint64_t page = below(random, bytes.size() / 4096 + 1) * 4096;
    const uint64_t at = below(random, 2) == 0 ? page + below(random, 128) : below(random, bytes.size());
    if (at < bytes.size())
      bytes[at] = static_cast<char>(below(random, 2) == 0 ? random() : (random() & 1) * 255);
  }
  write_all(path, bytes);
  return std::to_string(count) + " bytes";
}

std::string harm_pages(const std::string& path, Random& random) {
  std::string bytes = read_all(path);
  const uint64_t pages = bytes.size() / 4096;
  if (pages < 2) return "nothing";
  const size_t from = below(random, pages) * 4096, to = below(random, pages) * 4096;
  if (below(random, 3) == 0) {
    bytes.replace(to, 4096, std::string(4096, '\0'));
    write_all(path, bytes);
    return "a page of zeros";
  }
  const std::string page = bytes.substr(from, 4096);
  bytes.replace(to, 4096, page);
  write_all(path, bytes);
  return "a page in another's place";
}

std::string harm_length(const std::string& path, Random& random) {
  const auto size = static_cast<uint64_t>(fs::file_size(path));
  const bool whole_pages = below(random, 2) == 0;
  const uint64_t left = whole_pages ? below(random, size / 4096 + 1) * 4096 : below(random, size + 1);
  fs::resize_file(path, left);
  return "cut to " + std::to_string(left) + " bytes";
}

// A connection that checks and protects nothing.
class Connection {
 public:
  explicit Connection(const std::string& path) {
    if (sqlite3_open(path.c_str(), &handle_) != SQLITE_OK) std::abort();
    run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA writable_schema = ON;"
        "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF;");
  }
  ~Connection() { sqlite3_close(handle_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // What does not work changes nothing, which is no harm.
  void run(const std::string& sql) { sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr); }

  std::vector<std::string> texts(const std::string& sql) {
    std::vector<std::string> found;
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return found;
    while (sqlite3_step(statement) == SQLITE_ROW) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
      found.emplace_back(text ? text : "");
    }
    sqlite3_finalize(statement);
    return found;
  }

  void run_with_text(const std::string& sql, const std::string& text) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return;
    sqlite3_bind_text(statement, 1, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    sqlite3_step(statement);
    sqlite3_finalize(statement);
  }

 private:
  sqlite3* handle_ = nullptr;
};

std::string joined(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ", ") + word;
  return list;
}

// An SQL literal of some type.
std::string literal(Random& random) {
  switch (below(random, 8)) {
    case 0:
      return "NULL";
    case 1:
      return "'text'";
    case 2:
      return "x'00ff80'";
    case 3:
      return one_of(random, std::array{"9e999", "-9e999", "1e300", "0.5", "-0.0", "1e-320"});
    case 4:
      if (below(random, 50) == 0) return "zeroblob(80000000)";  // past every limit, and slow to write
      return "zeroblob(" + std::to_string(one_of(random, std::array{0, 1, 4096, 70'000})) + ")";
    case 5:
      return std::to_string(static_cast<int64_t>(random()));
    default: {
      const int64_t number = one_of(random, kNumbers);
      return number == INT64_MIN ? "-9223372036854775807 - 1" : std::to_string(number);
    }
  }
}

struct Table {
  std::string name;  // empty: the file has none
  std::vector<std::string> columns;
};

Table any_table(Connection& connection, Random& random) {
  const std::vector<std::string> tables =
      connection.texts("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
  if (tables.empty()) return {};
  const std::string& name = one_of(random, tables);
  return {name, connection.texts("SELECT name FROM pragma_table_info('" + name + "')")};
}

std::string harm_values(const std::string& path, Random& random) {
  Connection connection(path);
  const auto [table, columns] = any_table(connection, random);
  if (table.empty()) return "nothing";
  std::vector<std::string> keys =
      connection.texts("SELECT name FROM pragma_table_info('" + table + "') WHERE pk > 0");
  if (keys.empty()) keys = {"rowid"};
  if (columns.empty()) return "nothing";
  const std::vector<std::string> counted = connection.texts("SELECT count(*) FROM " + table);
  const uint64_t rows = counted.empty() ? 0 : std::stoull(counted[0]);
  const std::string key = joined(keys);
  const std::string row = "(" + key + ") IN (SELECT " + key + " FROM " + table + " LIMIT " +
                          std::to_string(below(random, 10) == 0 ? 1 + below(random, 20) : 1) + " OFFSET " +
                          std::to_string(below(random, rows)) + ")";
  std::string sql;
  const std::string& column = one_of(random, columns);
  switch (below(random, 6)) {
    case 0:
      sql = "DELETE FROM " + table + " WHERE " + row;
      break;
    case 1: {
      std::vector<std::string> values;
      for (size_t i = 0; i < columns.size(); ++i)
        values.push_back(below(random, 2) == 0 ? literal(random) : std::to_string(below(random, 4)));
      sql = "INSERT OR REPLACE INTO " + table + " VALUES(" + joined(values) + ")";
      break;
    }
    default:
      sql = "UPDATE OR REPLACE " + table + " SET " + column + " = " + literal(random) + " WHERE " + row;
      break;
  }
  connection.run(sql);
  return sql;
}

// The places of the JSON's numbers, words and so on: [begin, end).
std::vector<std::pair<size_t, size_t>> tokens_of(const std::string& json) {
  std::vector<std::pair<size_t, size_t>> tokens;
  tokens.reserve(json.size() / 4);
  for (size_t at = 0; at < json.size();) {
    const char c = json[at];
    size_t end = at + 1;
    if (c == '"') {
      while (end < json.size() && json[end] != '"') end += json[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, json.size());
    } else if (std::string("0123456789-").find(c) != std::string::npos) {
      while (end < json.size() && std::string("0123456789.eE+-").find(json[end]) != std::string::npos) ++end;
    }
    tokens.emplace_back(at, end);
    at = end;
  }
  return tokens;
}

std::string harm_json_value(const std::string& path, Random& random) {
  Connection connection(path);
  const std::vector<std::string> found = connection.texts("SELECT value FROM meta WHERE key = 'program'");
  if (found.empty() || found[0].empty()) return "nothing";
  std::string json = found[0];
  const uint64_t count = 1 + below(random, 4);
  for (uint64_t i = 0; i < count; ++i) {
    const auto tokens = tokens_of(json);
    const auto [begin, end] = one_of(random, tokens);
    const auto [other, other_end] = one_of(random, tokens);
    const bool is_number = std::string("0123456789-").find(json[begin]) != std::string::npos;
    switch (below(random, is_number ? 4 : 12)) {
      case 0:
        json.erase(begin, end - begin);
        break;
      case 1:
        json.replace(begin, end - begin, json.substr(other, other_end - other));
        break;
      case 2:
        json.insert(begin,
                    std::string(1 + below(random, 200), one_of(random, std::array{'[', '{', ' ', '9'})));
        break;
      case 3:
        if (is_number) json.replace(begin, end - begin, std::to_string(one_of(random, kNumbers)));
        break;
      default: {  // of the words, most are somebody's name: take another number instead
        for (size_t at = below(random, tokens.size()), tries = 0; tries < tokens.size(); ++tries, ++at) {
          const auto [b, e] = tokens[at % tokens.size()];
          if (std::string("0123456789-").find(json[b]) == std::string::npos) continue;
          json.replace(b, e - b, std::to_string(one_of(random, kNumbers)));
          break;
        }
      }
    }
    if (json.empty()) break;
  }
  connection.run_with_text("UPDATE meta SET value = ? WHERE key = 'program'", json);
  return std::to_string(count) + " places of the Program's JSON";
}

std::string harm_schema(const std::string& path, Random& random) {
  Connection connection(path);
  const auto [table, columns] = any_table(connection, random);
  if (table.empty()) return "nothing";
  std::string sql;
  switch (below(random, 7)) {
    case 0:
      sql = "DROP TABLE " + table;
      break;
    case 1:
      sql = "ALTER TABLE " + table + " RENAME TO elsewhere; CREATE VIEW " + table +
            " AS SELECT * FROM elsewhere, elsewhere AS again";
      break;
    case 2:
      sql = "ALTER TABLE " + table + " RENAME COLUMN " + one_of(random, columns) + " TO other";
      break;
    case 3:
      sql = "PRAGMA user_version = " + std::to_string(static_cast<int32_t>(one_of(random, kNumbers)));
      break;
    case 4:
      sql = "PRAGMA application_id = " + std::to_string(static_cast<int32_t>(one_of(random, kNumbers)));
      break;
    case 5:
      sql = "UPDATE sqlite_schema SET rootpage = " + std::to_string(1 + below(random, 20)) +
            " WHERE name = '" + table + "'";
      break;
    default:
      sql = "ALTER TABLE " + table + " ADD COLUMN more AS (hex(zeroblob(100000000)))";
      break;
  }
  connection.run(sql);
  return sql;
}

}  // namespace

std::string harm_recording(const std::string& path, Random& random) {
  const auto which = below(random, 16);
  auto* const way = which < 2    ? harm_any_bytes
                    : which < 3  ? harm_pages
                    : which < 4  ? harm_length
                    : which < 9  ? harm_values
                    : which < 14 ? harm_json_value
                                 : harm_schema;
  std::string done;
  const uint64_t times = way == harm_values ? 1 + below(random, 4) : 1;
  for (uint64_t i = 0; i < times; ++i) done += (i > 0 ? "; " : "") + way(path, random);
  return done;
}

}  // namespace shardlens::fuzz
