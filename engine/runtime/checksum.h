// Checksums of a checkpoint's files. Neither safetensors nor JSON has a checksum, so a bit that a disk or a
// copy changed would go unnoticed. `training.json` holds, under "checksums", the checksum of each file of
// tensors and of its own values. They are compared when a file is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace shardlens {

/// The file of a checkpoint that holds its checksums, beside its tensors.
inline constexpr const char* kCheckpointState = "training.json";

/// Computes hash64() over the hash64() of each block of a file. Blocks have kBlockBytes; the last one may be
/// shorter.
class Checksum {
 public:
  static constexpr size_t kBlockBytes = 1 << 20;

  /// Adds the file's next bytes.
  void add(const void* data, size_t bytes);
  /// Returns the checksum of all added bytes, as it is written in JSON: "xxh3:" and 16 hexadecimal digits.
  /// Older versions wrote only the digits of hash_of_version_1(); their files are still checked.
  std::string text() const;

 private:
  std::vector<uint64_t> blocks_;
  std::vector<std::byte> begun_;  ///< the bytes of the block that is not full yet
};

/// Returns the checksum of training.json's values, without this checksum itself. It does not depend on spaces
/// or on the order of keys.
std::string state_checksum(nlohmann::json state);

/// Returns training.json's values. Throws a request Error if they differ from those that were saved. If the
/// file has no checksum of itself (an older version saved it), it is not checked.
nlohmann::json read_checkpoint_state(const std::string& path);

/// Throws a request Error if the checksum of the file at `path` differs from the one in `training.json` in
/// the same folder. If there is no training.json, or it has no checksum of this file (another program or an
/// older version saved it), the file is not checked. Reads the whole file.
void require_as_saved(const std::string& path);

}  // namespace shardlens
