// A small interface to SQLite, with what recordings need: a database, prepared statements, and errors that
// name the file.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace shardlens {

class Statement;

class Database {
 public:
  enum class Access { Create, ReadWrite, Read, Unlocked, Forgotten };

  /// Create: makes a new file; throws a request Error if it exists. ReadWrite and Read: open an existing
  /// file; throw a request Error if it is not a database. Unlocked: the same as Read, but without a lock and
  /// without a check whether it is being written; the caller must know that it is not. Forgotten: a database
  /// without a path, removed with the object. Later failures throw a run Error with SQLite's reason.
  Database(const std::string& path, Access access);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Runs one or several statements that have no results.
  void run(const std::string& sql);
  Statement prepare(const std::string& sql);
  /// Returns the one integer that `sql` yields.
  int64_t integer(const std::string& sql);
  const std::string& path() const { return path_; }
  /// True if the path no longer names the file that was opened.
  bool is_gone() const;

  /// Throws the Error for `code`, with errno as the call left it: of the request kind if the file is the
  /// cause and not the machine.
  [[noreturn]] void fail(int code) const;

 private:
  std::string path_;
  std::pair<dev_t, ino_t> file_{};  ///< the file that was opened; zeros: unknown
  sqlite3* handle_ = nullptr;
  friend class Statement;
};

/// Opens an existing database for reading and, if possible, for writing. If its writer died while it wrote,
/// opening repairs the file, and that needs permission to write.
std::unique_ptr<Database> open_database(const std::string& path);

/// A compiled statement: bind() from 1, then step() until it is false, then reset() to use it again.
class Statement {
 public:
  Statement(Database& database, const std::string& sql);
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(int at, int64_t value);
  Statement& bind(int at, double value);
  Statement& bind(int at, std::string_view text);  ///< bytes that are not UTF-8 become U+FFFD
  Statement& bind_null(int at);
  Statement& bind_blob(int at, const void* data,
                       size_t bytes);  ///< not copied: must stay valid until reset()
  bool step();                         ///< true: there is a row
  void run();                          ///< step() to the end, and reset()
  void reset();

  bool is_null(int column) const;
  // A file may contain anything in any column: a value of another kind is a request Error that names the file
  // and the column.
  int64_t integer(int column) const;
  double number(int column) const;     ///< also reads an integer; a null gives NaN, which SQLite cannot store
  std::string text(int column) const;  ///< UTF-8
  std::string_view blob(int column) const;  ///< valid until the next step()

 private:
  [[noreturn]] void mistaken(int column, const char* expected) const;
  Database* database_;
  sqlite3_stmt* handle_ = nullptr;
};

}  // namespace shardlens
