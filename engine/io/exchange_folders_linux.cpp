// By Linux's renameat2().
#include <fcntl.h>
#include <stdio.h>

#include "engine/io/exchange_folders.h"

namespace shardlens {

bool exchange_folders(const std::filesystem::path& one, const std::filesystem::path& other) {
  return renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0;
}

}  // namespace shardlens
