// Returns the name of a build.
#include "engine/runtime/build.h"

#include <fmt/format.h>

#include "engine/config/module.h"

namespace shardlens {

std::string build_name() {
  return fmt::format("{}, {} of sources {}", shardlens_module_version(), __VERSION__, source_hash());
}

}  // namespace shardlens
