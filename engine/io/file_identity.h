// What tells a file from all others, whatever its path. A file system gives the inode of a removed file to a
// new one, so the time at which a file was made belongs to its identity, where the file system knows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

namespace shardlens {

/// Device, inode, and the time at which it was made, in seconds and nanoseconds; 0 where that is not known.
using FileIdentity = std::tuple<uint64_t, uint64_t, int64_t, int64_t>;

/// Of a regular file; empty: it is something else, or cannot be looked at.
std::optional<FileIdentity> identity_of_file(const std::string& path);
std::optional<FileIdentity> identity_of_file(int file);

}  // namespace shardlens
