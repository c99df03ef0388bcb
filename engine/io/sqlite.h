// SQLite, as little of it as recordings need: a database, prepared statements, and errors that name the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace shardlens {

class Statement;

class Database {
 public:
  enum class Access { Create, ReadWrite, Read, Unlocked, Forgotten };

  /// Create: a new file; one that is there is a request Error. ReadWrite and Read: a file that is there; a
  /// request Error says when it is no database. Unlocked: the same for reading, without a lock and without a
  /// look at whether it is being written, which the caller must know. Forgotten: of no path, gone with the
  /// object. What fails later throws a run Error with SQLite's reason.
  Database(const std::string& path, Access access);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// One statement or several, without results.
  void run(const std::string& sql);
  Statement prepare(const std::string& sql);
  /// The one integer that `sql` yields.
  int64_t integer(const std::string& sql);
  const std::string& path() const { return path_; }

  /// Throws what `code` means, of the request kind where the file is to blame and not the machine.
  [[noreturn]] void fail(int code) const;

 private:
  std::string path_;
  sqlite3* handle_ = nullptr;
  friend class Statement;
};

/// A database that is there, for reading and, where that is possible, for writing: one that was being written
/// when its writer died is put right by whoever opens it, who must be able to write.
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
  Statement& bind(int at, std::string_view text);
  Statement& bind_null(int at);
  Statement& bind_blob(int at, const void* data, size_t bytes);  ///< not copied: lasts until reset()
  bool step();                                                   ///< true: there is a row
  void run();                                                    ///< step() to the end, and reset()
  void reset();

  bool is_null(int column) const;
  // A file may hold anything in any column: what is not of the kind asked for is a request Error that names
  // the file and the column.
  int64_t integer(int column) const;
  double number(int column) const;          ///< of an integer too; NaN, which SQLite cannot store, of a null
  std::string text(int column) const;       ///< UTF-8
  std::string_view blob(int column) const;  ///< valid until the next step()

 private:
  [[noreturn]] void mistaken(int column, const char* expected) const;
  Database* database_;
  sqlite3_stmt* handle_ = nullptr;
};

}  // namespace shardlens
