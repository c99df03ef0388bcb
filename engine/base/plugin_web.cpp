// A page opens no plug-ins.
#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/plugin.h"

namespace shardlens {

bool open_library(const std::string&) {
  return false;
}

void* plugin_symbol(const std::string& file, const std::string&, const std::string& remedy) {
  throw request_error(fmt::format("a page cannot open {}. In the program on a desktop: {}", file, remedy));
}

}  // namespace shardlens
