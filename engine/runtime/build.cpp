// Returns the name of a build.
#include "engine/runtime/build.h"

#include <fmt/format.h>

#include "engine/base/plugin.h"

namespace shardlens {

std::string build_name() {
  return fmt::format("{}, {} of sources {}", shardlens_plugin_version(), __VERSION__, source_hash());
}

}  // namespace shardlens
