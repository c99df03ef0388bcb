// What tells whether a file has changed, without reading it.
#pragma once

#include <cstdint>
#include <filesystem>

namespace shardlens {

struct FileState {
  std::filesystem::file_time_type time{};
  uintmax_t bytes = 0;
  bool operator==(const FileState&) const = default;
};

/// A file that cannot be looked at has a state of its own. Never throws.
inline FileState state_of_file(const std::filesystem::path& path) {
  std::error_code unknown;
  FileState state{std::filesystem::last_write_time(path, unknown), 0};
  state.bytes = std::filesystem::file_size(path, unknown);
  return state;
}

}  // namespace shardlens
