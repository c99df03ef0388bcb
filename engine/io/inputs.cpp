// Keeps the identities of inputs. A file system gives the inode of a removed file to a new one, so the time
// at which a file was made belongs to its identity, where the file system knows it.
#include "engine/io/inputs.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>

namespace shardlens {
namespace {

using Identity = std::tuple<uint32_t, uint32_t, uint64_t, int64_t, uint32_t>;  // device, inode, made

std::mutex inputs_mutex;
std::set<Identity> inputs;

// A path of "" means the open file `at` itself.
std::optional<Identity> identity_of(int at, const char* path) {
  struct statx facts {};
  if (statx(at, path, AT_EMPTY_PATH, STATX_TYPE | STATX_INO | STATX_BTIME, &facts) != 0) return {};
  if (!S_ISREG(facts.stx_mode)) return {};
  const bool made = (facts.stx_mask & STATX_BTIME) != 0;
  return Identity{facts.stx_dev_major, facts.stx_dev_minor, facts.stx_ino, made ? facts.stx_btime.tv_sec : 0,
                  made ? facts.stx_btime.tv_nsec : 0};
}

void note(const std::optional<Identity>& identity) noexcept {
  if (!identity) return;
  try {
    const std::lock_guard lock(inputs_mutex);
    inputs.insert(*identity);
  } catch (...) {  // no memory: whoever reads the file will say so
  }
}

}  // namespace

void note_input(int file) noexcept {
  note(identity_of(file, ""));
}

void note_input(const std::string& path) noexcept {
  note(identity_of(AT_FDCWD, path.c_str()));
}

bool is_input(const std::string& path) {
  const std::optional<Identity> identity = identity_of(AT_FDCWD, path.c_str());
  if (!identity) return false;
  const std::lock_guard lock(inputs_mutex);
  return inputs.contains(*identity);
}

}  // namespace shardlens
