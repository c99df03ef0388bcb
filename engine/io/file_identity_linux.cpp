// By Linux's statx(), which knows when a file was made.
#include "engine/io/file_identity.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace shardlens {
namespace {

// A path of "" means the open file `at` itself.
std::optional<FileIdentity> identity(int at, const char* path) {
  struct statx facts {};
  if (statx(at, path, AT_EMPTY_PATH, STATX_TYPE | STATX_INO | STATX_BTIME, &facts) != 0) return {};
  if (!S_ISREG(facts.stx_mode)) return {};
  const bool made = (facts.stx_mask & STATX_BTIME) != 0;
  return FileIdentity{(static_cast<uint64_t>(facts.stx_dev_major) << 32) | facts.stx_dev_minor, facts.stx_ino,
                      made ? facts.stx_btime.tv_sec : 0, made ? facts.stx_btime.tv_nsec : 0};
}

}  // namespace

std::optional<FileIdentity> identity_of_file(const std::string& path) {
  return identity(AT_FDCWD, path.c_str());
}

std::optional<FileIdentity> identity_of_file(int file) {
  return identity(file, "");
}

}  // namespace shardlens
