// What a checkpoint's files were when they were saved: neither safetensors nor JSON has a checksum, so a bit
// that a disk or a copy lost would be a number like any other. `training.json` says under "checksums" what
// the bytes of each file of tensors gave, and what its own values gave; whoever reads one holds it against
// that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace shardlens {

/// The file of a checkpoint that holds its checksums, beside its tensors.
inline constexpr const char* kCheckpointState = "training.json";

/// hash64() over the hash64() of a file's blocks of kBlockBytes, the last one as long as it is.
class Checksum {
 public:
  static constexpr size_t kBlockBytes = 1 << 20;

  /// The file's next bytes.
  void add(const void* data, size_t bytes);
  /// Of all that was added, as it is written in JSON: "xxh3:" and 16 hexadecimal digits. Older versions wrote
  /// the digits of hash_of_version_1() alone; their files are still checked.
  std::string text() const;

 private:
  std::vector<uint64_t> blocks_;
  std::vector<std::byte> begun_;  ///< of the block that is not full yet
};

/// The checksum of training.json's values but for this one, however they are spaced and ordered.
std::string state_checksum(nlohmann::json state);

/// training.json's values; throws a request Error when they are not those that were saved. Where it says
/// nothing of itself (an older version's), it is taken as it is.
nlohmann::json read_checkpoint_state(const std::string& path);

/// Throws a request Error when the file at `path` is not what `training.json` beside it says was saved. Where
/// there is none, or it says nothing of this file (another program's, an older version's), it is taken as it
/// is. Reads the whole file.
void require_as_saved(const std::string& path);

}  // namespace shardlens
