// Two folders change places in one step, so that at no moment one of them is missing.
#pragma once

#include <filesystem>

namespace shardlens {

/// Exchanges the two folders. Returns false, with nothing done, where the file system cannot do it in one
/// step; `errno` then says why if it is another reason, and is EINVAL or ENOSYS if not.
bool exchange_folders(const std::filesystem::path& one, const std::filesystem::path& other);

}  // namespace shardlens
