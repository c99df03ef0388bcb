// A page's file system cannot do it.
#include <cerrno>

#include "engine/io/exchange_folders.h"

namespace shardlens {

bool exchange_folders(const std::filesystem::path&, const std::filesystem::path&) {
  errno = ENOSYS;
  return false;
}

}  // namespace shardlens
