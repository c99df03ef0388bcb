// Lookup of embedded files by name.
#include "engine/config/assets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "engine/base/error.h"

namespace shardlens {

std::string_view find_embedded(std::span<const EmbeddedFile> files, std::string_view name) {
  const auto found = std::ranges::find(files, name, &EmbeddedFile::name);
  if (found != files.end()) return found->contents;
  std::vector<std::string_view> names;
  for (const EmbeddedFile& file : files) names.push_back(file.name);
  throw request_error(
      fmt::format("no built-in file is called \"{}\"; there are: {}", name, fmt::join(names, ", ")));
}

std::string_view asset(std::string_view name) {
  return find_embedded(embedded_assets(), name);
}

}  // namespace shardlens
