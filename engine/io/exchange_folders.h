// Two folders change places in one step, so that at no moment one of them is missing.
#pragma once

#include <filesystem>

namespace shardlens {

/// Exchanges the two folders. Returns false if nothing was done: `errno` is EINVAL or ENOSYS where it cannot
/// be done in one step, and otherwise says why it failed.
bool exchange_folders(const std::filesystem::path& one, const std::filesystem::path& other);

}  // namespace shardlens
