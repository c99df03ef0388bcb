// Compares planned bytes with the free bytes of a file system.
#include "engine/train/checkpoint_room.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/planner/parameters.h"
#include "engine/train/checkpoint.h"
#include "engine/train/model_state.h"

namespace shardlens {
namespace {

namespace fs = std::filesystem;

// The root user may also use the reserved blocks.
uintmax_t free_bytes(const fs::space_info& space) {
  return geteuid() == 0 ? space.free : space.available;
}

}  // namespace

int64_t checkpoint_bytes(const Program& program) {
  int64_t bytes = 0;
  std::set<std::string> names;  // several parameters can be parts of one stored tensor
  for (const TensorId id : lasting_tensors(program)) {
    const Tensor& tensor = program.tensor(id);
    for (const StoredPart& part : stored_parts(program, tensor))
      if (names.insert(part.name).second) bytes += element_count(part.shape) * element_bytes(tensor.dtype);
  }
  return bytes;
}

void require_room(const std::string& folder, int64_t bytes, const std::string& what) {
  std::error_code failed;
  // A checkpoint is written next to its place, which may not exist yet.
  fs::path standing = fs::weakly_canonical(fs::absolute(folder), failed).parent_path();
  while (!fs::exists(standing, failed) && standing.has_relative_path()) standing = standing.parent_path();
  const fs::space_info space = fs::space(standing, failed);
  if (failed || free_bytes(space) >= static_cast<uintmax_t>(bytes)) return;
  throw request_error(fmt::format(
      "{} in {} would take {}, but its disk has only {} free; free some space there, or name a folder on "
      "another disk",
      what, folder, bytes_text(static_cast<double>(bytes)),
      bytes_text(static_cast<double>(free_bytes(space)))));
}

void require_checkpoint_room(const std::string& folder, const Program& program, int64_t saves) {
  const int64_t bytes = checkpoint_bytes(program);
  if (is_checkpoint(folder))
    return require_room(folder, bytes, "the new checkpoint, written beside the old one,");
  if (saves < 2) return require_room(folder, bytes, "the checkpoint");
  require_room(folder, 2 * bytes,
               "two checkpoints, because the new one is written before the old one is removed,");
}

}  // namespace shardlens
