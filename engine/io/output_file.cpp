// Looks at the file that is there before anything replaces it.
#include "engine/io/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/io/atomic_file.h"
#include "engine/io/file_kind.h"
#include "engine/io/file_problem.h"
#include "engine/io/inputs.h"

namespace shardlens {
namespace {

namespace fs = std::filesystem;

std::optional<Existing> asked;

struct Look {
  bool is_there = false, is_readable = false;
  std::string beginning, end;
};

std::string read_at(int file, off_t offset, size_t bytes) {
  std::string text(bytes, '\0');
  size_t got = 0;
  while (got < bytes) {
    const ssize_t more = pread(file, text.data() + got, bytes - got, offset + static_cast<off_t>(got));
    if (more <= 0) break;
    got += static_cast<size_t>(more);
  }
  text.resize(got);
  return text;
}

// Not through InputFile: a file that is only looked at is no input.
Look look_at(const std::string& path) {
  Look look;
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return look;
  look.is_there = true;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return look;
  look.is_readable = true;
  look.beginning = read_at(file, 0, kLookBytes);
  const auto size = static_cast<size_t>(facts.st_size);
  if (size > kLookBytes) look.end = read_at(file, facts.st_size - off_t{kLookBytes}, kLookBytes);
  close(file);
  return look;
}

std::string described(const Look& look) {
  return look.is_readable ? title_of_bytes(look.beginning) : "a file that cannot be read";
}

// "folder/" and "folder" have one lock.
std::string without_slash(const std::string& path) {
  const fs::path folder = fs::path(path).lexically_normal();
  return folder.has_filename() ? folder.string() : folder.parent_path().string();
}

std::string prepared(const std::string& path, OutputFolder::Made when) {
  if (when == OutputFolder::Made::Now) make_folder(path);
  return target_of(without_slash(path));
}

}  // namespace

void set_existing_outputs(std::optional<Existing> wish) {
  asked = wish;
}

bool are_existing_kept(Existing habit) {
  return asked.value_or(habit) == Existing::Kept;
}

void require_replaceable(const std::string& path, const OutputKind& kind, bool goes_on) {
  if (!kind.is_updated && is_input(path))
    throw request_error(
        fmt::format("cannot write {}: this command reads that file; give the output another name", path));
  const Look look = look_at(path);
  if (!look.is_there) return;
  const bool is_one = look.is_readable && (look.beginning.empty() || kind.is_one(look.beginning, look.end));
  if (!goes_on && are_existing_kept(kind.habit)) {
    const bool is_said = asked == Existing::Kept;  // by --no-overwrite
    throw request_error(fmt::format("{} is there already{}; give a new name, {}", path,
                                    is_one ? "" : fmt::format(", and it is {}", described(look)),
                                    !is_one   ? "or move that file away"
                                    : is_said ? "move that file away, or leave out --no-overwrite"
                                              : "move that file away, or add --overwrite"));
  }
  if (is_one) return;
  throw request_error(
      fmt::format("cannot write {}: the file that is there is {}, not {}; give a new name, or "
                  "move that file away",
                  path, described(look), kind.title));
}

// The owner first: what it has written so far is not a file to move away.
OutputPlace::OutputPlace(const std::string& path, const OutputKind& kind, bool goes_on)
    : owner_(target_of(path)) {
  require_replaceable(path, kind, goes_on);
  require_writable(path, kind);
}

OutputFolder::OutputFolder(const std::string& path, Made when) : owner_(prepared(path, when)) {}

}  // namespace shardlens
