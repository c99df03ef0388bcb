// Finds and opens plug-ins.
#include "engine/config/module.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "engine/config/error.h"

namespace shardlens {
namespace {

namespace fs = std::filesystem;

// Returns dlerror()'s text.
std::string last_problem() {
  const char* text = dlerror();
  return text == nullptr ? "unknown error" : text;
}

}  // namespace

void* module_symbol(const std::string& file, const std::string& symbol, const std::string& remedy) {
  std::error_code ignored;
  const fs::path folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  fs::path path = folder / file;
  if (!fs::exists(path, ignored)) path = folder / ".." / "lib" / file;
  if (!fs::exists(path, ignored))
    throw request_error(fmt::format("{} is not beside the program in {}: {}", file, folder.string(), remedy));
  // RTLD_GLOBAL: a library that a plug-in needs (such as MPI) opens plug-ins of its own, and these look for
  // its symbols.
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (module == nullptr)
    throw request_error(fmt::format("{} cannot be opened ({}): {}", file, last_problem(), remedy));
  using Version = const char* (*)();
  const auto version = reinterpret_cast<Version>(dlsym(module, "shardlens_module_version"));
  if (version == nullptr || std::string(version()) != shardlens_module_version()) {
    throw request_error(
        fmt::format("{} is of another build ({}; this program is {}), build both from the same sources: {}",
                    file, version == nullptr ? "unknown" : version(), shardlens_module_version(), remedy));
  }
  void* found = dlsym(module, symbol.c_str());
  if (found == nullptr) throw request_error(fmt::format("{} has no {}: {}", file, symbol, remedy));
  return found;
}

}  // namespace shardlens
