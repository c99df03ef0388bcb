// Calls SQLite and checks every return code.
#include "engine/io/sqlite.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <string_view>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "engine/io/file_problem.h"
#include "engine/io/input_file.h"
#include "engine/io/inputs.h"

namespace shardlens {
namespace {

constexpr int kBusyMilliseconds = 2000;
constexpr int kLargestValue = 64 << 20;  // bytes of a text or a blob: far more than any of ours

// Returns a path as a URI, the form in which SQLite accepts options.
std::string uri(const std::string& path, const char* options) {
  std::string escaped;
  for (const char letter : std::filesystem::absolute(path).string()) {
    if (letter == '%' || letter == '?' || letter == '#')
      escaped += fmt::format("%{:02x}", static_cast<unsigned>(letter));
    else
      escaped += letter;
  }
  return "file://" + escaped + options;
}

// Makes an empty file, which is a database without tables. If two callers make the same file, only one
// succeeds.
void make_file(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file >= 0) {
    close(file);
    return;
  }
  if (errno == EEXIST)
    throw request_error(fmt::format("{} already exists; give a new name, or move it away", path));
  if (errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == EROFS)
    throw request_error(
        fmt::format("cannot write {}: {} is not a folder that can be written to; choose "
                    "another one",
                    path, std::filesystem::absolute(path).parent_path().string()));
  throw request_error(fmt::format("cannot write {}: {}", path, reason_and_remedy(errno, Refused::Write)));
}

// The files that SQLite keeps beside a database, and the bytes with which its own begin.
struct Companion {
  const char* ending;
  std::string_view mark;
};
using namespace std::string_view_literals;
constexpr std::array<Companion, 3> kCompanions{
    {{"-journal", "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"sv}, {"-wal", "\x37\x7f\x06"sv}, {"-shm", ""sv}}};

// True if a file is empty, or begins with `mark` or with a zero, as a journal that is no longer needed.
bool is_own(const std::string& path, std::string_view mark) {
  try {
    std::array<char, 8> bytes{};
    InputFile file(path);
    const std::string_view begin(bytes.data(), file.read_next(bytes.data(), bytes.size()));
    return begin.empty() || begin[0] == '\0' || begin.starts_with(mark);
  } catch (const Error&) {
    return true;  // a writer removed it meanwhile, or SQLite cannot read it either and says so
  }
}

// SQLite opens the files that it keeps beside a database, whatever they are. It would wait for a pipe, and
// write where a link leads. Also, it removes a file of such a name that is not its own, unless the database
// is opened as Unlocked.
void require_companions(const std::string& path, bool may_remove) {
  std::error_code ignored;
  const std::string real = std::filesystem::weakly_canonical(path, ignored);
  for (const auto& [ending, mark] : kCompanions) {
    const std::string beside = (real.empty() ? path : real) + ending;
    // Asked once: a writer's journal may be removed between two questions.
    const std::filesystem::file_status found = std::filesystem::symlink_status(beside, ignored);
    if (!std::filesystem::exists(found)) continue;
    if (!std::filesystem::is_regular_file(found))
      throw request_error(fmt::format("{} is not a regular file: remove it to open {}", beside, path));
    if (may_remove && !is_own(beside, mark))
      throw request_error(
          fmt::format("{} is not a file of SQLite's, which would remove it: give it another name to open {}",
                      beside, path));
  }
}

// SQLite has no words for this.
void require_short(const std::string& path) {
  constexpr size_t kMostBytes = 504;  // its limit of 512, less the longest ending of a companion
  std::error_code ignored;
  const size_t bytes = std::filesystem::weakly_canonical(path, ignored).string().size();
  if (bytes > kMostBytes)
    throw request_error(
        fmt::format("cannot open {}: its whole path has {} bytes, and that of a recording may have at most "
                    "{}: use a shorter path",
                    path, bytes, kMostBytes));
}

void require_file(const std::string& path) {
  struct stat facts {};
  const bool known = stat(path.c_str(), &facts) == 0;
  if (!known && (errno == ENOENT || errno == ENOTDIR))
    throw request_error(fmt::format("{}: there is no such file", path));
  if (!known)
    throw request_error(fmt::format("cannot open {}: {}", path, reason_and_remedy(errno, Refused::Read)));
  if (!S_ISREG(facts.st_mode)) throw request_error(fmt::format("{} is not a file", path));
}

// The system's reason where it is the cause; SQLite's words for it are "unable to open database file" and
// "disk I/O error". SQLite does not keep it in a commit: `error_number` is errno after the call.
std::string reason_of(sqlite3* handle, int code, int error_number) {
  if (handle == nullptr) return sqlite3_errstr(code);
  const int primary = code & 0xff, kept = sqlite3_system_errno(handle);
  const int reason = kept != 0 ? kept : error_number;
  if (reason == 0 || (primary != SQLITE_CANTOPEN && primary != SQLITE_IOERR)) return sqlite3_errmsg(handle);
  return reason_and_remedy(reason, primary == SQLITE_CANTOPEN ? Refused::Read : Refused::Write);
}

Error damaged(const std::string& path, const std::string& how) {
  return request_error(
      fmt::format("{} is damaged: {}. If it is a copy, the original may be intact", path, how));
}

}  // namespace

Database::Database(const std::string& path, Access access) : path_(path) {
  const bool is_new = access == Access::Create || access == Access::Forgotten;
  if (access != Access::Forgotten) {
    require_short(path);
    require_companions(path, access != Access::Unlocked);
  }
  if (!is_new) require_file(path);
  if (access == Access::Create) make_file(path);
  const int flags = access == Access::Read       ? SQLITE_OPEN_READONLY
                    : access == Access::Unlocked ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
                    : is_new                     ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                                 : SQLITE_OPEN_READWRITE;
  const std::string name = access == Access::Unlocked ? uri(path, "?immutable=1") : path;
  const int code = sqlite3_open_v2(name.c_str(), &handle_, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code != SQLITE_OK) {
    const std::string why = reason_of(handle_, code, 0);
    sqlite3_close(handle_);
    handle_ = nullptr;
    std::error_code ignored;
    if (access == Access::Create) std::filesystem::remove(path, ignored);
    throw request_error(fmt::format("cannot open {}: {}", path, why));
  }
  if (!is_new) note_input(path);
  struct stat opened {};
  if (access != Access::Forgotten && stat(path.c_str(), &opened) == 0) file_ = {opened.st_dev, opened.st_ino};
  sqlite3_busy_timeout(handle_, kBusyMilliseconds);
  // A file from elsewhere must not run code of its own, and its schema is not trusted.
  sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, kLargestValue);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
}

Database::~Database() {
  sqlite3_close_v2(handle_);
}

bool Database::is_gone() const {
  if (file_ == decltype(file_){}) return false;
  struct stat now {};
  return stat(path_.c_str(), &now) != 0 || file_ != std::pair(now.st_dev, now.st_ino);
}

void Database::fail(int code) const {
  const int error_number = errno;
  // SQLite has a code for this only if it is about to write, and another one for each way to fail.
  if (is_gone())
    throw run_error(fmt::format(
        "{} was deleted, moved or replaced while it was open; put it back, and open it again", path_));
  const int primary = code & 0xff;
  const std::string why = reason_of(handle_, code, error_number);
  if (primary == SQLITE_FULL) throw run_error(fmt::format("{}: the disk is full", path_));
  if (primary == SQLITE_NOTADB)
    throw request_error(
        fmt::format("{} is not an SQLite database, so it is not a recording: name another file", path_));
  if (primary == SQLITE_CORRUPT || primary == SQLITE_TOOBIG || primary == SQLITE_ERROR ||
      primary == SQLITE_MISMATCH || primary == SQLITE_FORMAT)
    throw damaged(path_, fmt::format("SQLite reports \"{}\"", why));
  if (primary == SQLITE_READONLY)
    throw run_error(fmt::format(
        "{}: {}. If a run was killed while it wrote, its recording is repaired when it is first "
        "opened, and that needs a folder you can write to: copy it, with the file {}-journal, to such "
        "a folder, and open it there",
        path_, why, std::filesystem::path(path_).filename().string()));
  if (primary == SQLITE_IOERR)
    throw run_error(fmt::format("{} could not be read or written: {}", path_, why));
  if (primary == SQLITE_CANTOPEN)
    throw run_error(fmt::format("cannot open {} or a file beside it: {}", path_, why));
  throw run_error(fmt::format("{}: {}", path_, why));
}

void Database::run(const std::string& sql) {
  errno = 0;
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

Statement Database::prepare(const std::string& sql) {
  return Statement(*this, sql);
}

int64_t Database::integer(const std::string& sql) {
  Statement statement = prepare(sql);
  if (!statement.step()) throw request_error(fmt::format("{}: no result for {}", path_, sql));
  return statement.integer(0);
}

std::unique_ptr<Database> open_database(const std::string& path) {
  try {
    auto database = std::make_unique<Database>(path, Database::Access::ReadWrite);
    database->integer("PRAGMA user_version");
    return database;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Request) throw;
  }
  return std::make_unique<Database>(path, Database::Access::Read);
}

Statement::Statement(Database& database, const std::string& sql) : database_(&database) {
  const int code =
      sqlite3_prepare_v2(database.handle_, sql.c_str(), static_cast<int>(sql.size()) + 1, &handle_, nullptr);
  if (code == SQLITE_ERROR)  // a table or a column is missing: the file does not have the format it claims
    throw request_error(fmt::format("{} is not a recording of this kind: {}", database.path(),
                                    sqlite3_errmsg(database.handle_)));
  if (code != SQLITE_OK) database.fail(code);
}

Statement::~Statement() {
  sqlite3_finalize(handle_);
}

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_), handle_(std::exchange(other.handle_, nullptr)) {}

Statement& Statement::bind(int at, int64_t value) {
  if (const int code = sqlite3_bind_int64(handle_, at, value); code != SQLITE_OK) database_->fail(code);
  return *this;
}

Statement& Statement::bind(int at, double value) {
  if (const int code = sqlite3_bind_double(handle_, at, value); code != SQLITE_OK) database_->fail(code);
  return *this;
}

Statement& Statement::bind(int at, std::string_view given) {
  // Not UTF-8 is what a file's name in an error can be, and no reader would take it.
  const std::string replaced = is_utf8(given) ? std::string() : to_utf8(given);
  const std::string_view text = replaced.empty() ? given : replaced;
  const int code =
      sqlite3_bind_text(handle_, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  if (code != SQLITE_OK) database_->fail(code);
  return *this;
}

Statement& Statement::bind_null(int at) {
  if (const int code = sqlite3_bind_null(handle_, at); code != SQLITE_OK) database_->fail(code);
  return *this;
}

Statement& Statement::bind_blob(int at, const void* data, size_t bytes) {
  const int code = sqlite3_bind_blob64(handle_, at, bytes > 0 ? data : "", bytes, SQLITE_STATIC);
  if (code != SQLITE_OK) database_->fail(code);
  return *this;
}

bool Statement::step() {
  errno = 0;
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  const int failed = code, error_number = errno;
  sqlite3_reset(handle_);
  errno = error_number;
  database_->fail(failed);
}

void Statement::run() {
  while (step()) {
  }
  reset();
}

void Statement::reset() {
  sqlite3_reset(handle_);
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(handle_, column) == SQLITE_NULL;
}

void Statement::mistaken(int column, const char* expected) const {
  static constexpr std::array<const char*, 6> kKinds{"?",     "a whole number", "a number", "a text",
                                                     "bytes", "nothing"};  // by SQLite's codes, 1 to 5
  const char* name = sqlite3_column_name(handle_, column);
  throw damaged(database_->path(),
                fmt::format("its {} is {}, but should be {}", name ? name : "?",
                            kKinds[static_cast<size_t>(sqlite3_column_type(handle_, column))], expected));
}

int64_t Statement::integer(int column) const {
  if (sqlite3_column_type(handle_, column) != SQLITE_INTEGER) mistaken(column, "a whole number");
  return sqlite3_column_int64(handle_, column);
}

double Statement::number(int column) const {
  const int type = sqlite3_column_type(handle_, column);
  if (type == SQLITE_NULL) return std::numeric_limits<double>::quiet_NaN();
  if (type != SQLITE_FLOAT && type != SQLITE_INTEGER) mistaken(column, "a number");
  return sqlite3_column_double(handle_, column);
}

std::string Statement::text(int column) const {
  if (sqlite3_column_type(handle_, column) != SQLITE_TEXT) mistaken(column, "a text");
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(handle_, column));
  if (data == nullptr) return "";
  std::string text(data, static_cast<size_t>(sqlite3_column_bytes(handle_, column)));
  if (!is_utf8(text))
    throw damaged(database_->path(), fmt::format("its {} should be a text in UTF-8, but is not",
                                                 sqlite3_column_name(handle_, column)));
  return text;
}

std::string_view Statement::blob(int column) const {
  if (sqlite3_column_type(handle_, column) != SQLITE_BLOB) mistaken(column, "bytes");
  const auto* data = static_cast<const char*>(sqlite3_column_blob(handle_, column));
  return data ? std::string_view(data, static_cast<size_t>(sqlite3_column_bytes(handle_, column)))
              : std::string_view();
}

}  // namespace shardlens
