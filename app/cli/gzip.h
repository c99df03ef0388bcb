// Packs as gzip does, which every browser can unpack.
#pragma once

#include <string>

namespace shardlens::cli {

std::string gzip(const std::string& bytes);

}  // namespace shardlens::cli
