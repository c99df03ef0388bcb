// Files that are embedded in the programs: everything under assets/ (presets, sample text), and for the
// studio also the shaders and fonts. The build embeds them (cmake/embed.cmake), so a program runs from any
// folder.
#pragma once

#include <span>
#include <string_view>

namespace shardlens {

struct EmbeddedFile {
  std::string_view name;      // path below the embedded folder, with forward slashes
  std::string_view contents;  // the file's bytes; a zero byte follows the last one
};

// Returns everything under assets/, by path. Defined by the build.
std::span<const EmbeddedFile> embedded_assets();

// Returns the contents of the file called `name`. Throws an Error that lists the existing files.
std::string_view find_embedded(std::span<const EmbeddedFile> files, std::string_view name);

// Returns the contents of assets/`name`, for example asset("models/gpt2.json").
std::string_view asset(std::string_view name);

}  // namespace shardlens
