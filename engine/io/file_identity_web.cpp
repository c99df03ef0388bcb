// By stat(). A page's file system does not say when a file was made.
#include "engine/io/file_identity.h"

#include <sys/stat.h>

namespace shardlens {
namespace {

std::optional<FileIdentity> identity(const struct stat& facts) {
  if (!S_ISREG(facts.st_mode)) return {};
  return FileIdentity{facts.st_dev, facts.st_ino, 0, 0};
}

}  // namespace

std::optional<FileIdentity> identity_of_file(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 ? identity(facts) : std::nullopt;
}

std::optional<FileIdentity> identity_of_file(int file) {
  struct stat facts {};
  return fstat(file, &facts) == 0 ? identity(facts) : std::nullopt;
}

}  // namespace shardlens
