// Finds and opens plug-ins.
#include "engine/base/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "engine/base/elf_file.h"
#include "engine/base/error.h"

namespace shardlens {
namespace {

namespace fs = std::filesystem;

// Returns dlerror()'s text.
std::string last_problem() {
  const char* text = dlerror();
  return text == nullptr ? "unknown error" : text;
}

}  // namespace

bool open_library(const std::string& path) {
  return dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr;
}

void* plugin_symbol(const std::string& file, const std::string& symbol, const std::string& remedy) {
  std::error_code ignored;
  const fs::path folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  // A relative path would be looked for in the current folder, where anybody may have put a file.
  if (!folder.is_absolute())
    throw request_error(fmt::format(
        "{} is not looked for, because /proc does not say where this program is: {}", file, remedy));
  fs::path path = folder / file;
  if (!fs::exists(path, ignored)) path = folder / ".." / "lib" / file;
  if (!fs::exists(path, ignored))
    throw request_error(fmt::format("{} is not beside the program in {}: {}", file, folder.string(), remedy));
  if (const std::string damage = damage_of_library(path.string()); !damage.empty())
    throw request_error(fmt::format("{} cannot be opened ({}: {}): {}", file,
                                    path.lexically_normal().string(), damage, remedy));
  // RTLD_GLOBAL: a library that a plug-in needs (such as MPI) opens plug-ins of its own, and these look for
  // its symbols.
  void* plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (plugin == nullptr)
    throw request_error(fmt::format("{} cannot be opened ({}): {}", file, last_problem(), remedy));
  using Version = const char* (*)();
  const auto version = reinterpret_cast<Version>(dlsym(plugin, "shardlens_plugin_version"));
  if (version == nullptr || std::string(version()) != shardlens_plugin_version()) {
    throw request_error(
        fmt::format("{} is of another build ({}; this program is {}), build both from the same sources: {}",
                    file, version == nullptr ? "unknown" : version(), shardlens_plugin_version(), remedy));
  }
  void* found = dlsym(plugin, symbol.c_str());
  if (found == nullptr) throw request_error(fmt::format("{} has no {}: {}", file, symbol, remedy));
  return found;
}

}  // namespace shardlens
