// Reads the pictures that the studio wrote.
#pragma once

#include <filesystem>

#include "ui/platform/image.h"

namespace shardlens {

/// Throws std::runtime_error if the file is missing or damaged.
Image read_png(const std::filesystem::path& path);

}  // namespace shardlens
