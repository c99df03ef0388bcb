// Searches folders for NVIDIA's libraries.
#include "engine/device/gpu_libraries.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "engine/base/error.h"

namespace shardlens {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A folder's entries, sorted by name. Empty if the folder cannot be read.
std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code problem;
  for (fs::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem))
    found.push_back(at->path());
  std::sort(found.begin(), found.end());
  return found;
}

// The value of a variable that names a folder; empty if it is not an absolute path. What lies in the current
// folder may be anybody's, and is never loaded as code.
std::string folder_variable(const char* name) {
  const std::string value = variable(name);
  return fs::path(value).is_absolute() ? value : "";
}

// The prefixes of every python3 in PATH. An environment can be first in PATH without being active.
std::vector<std::string> pythons_in_path() {
  std::vector<std::string> prefixes;
  std::istringstream folders(variable("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code ignored;
    if (!fs::path(folder).is_absolute() || !fs::exists(fs::path(folder) / "python3", ignored)) continue;
    const std::string prefix =
        (fs::path(folder) / "python3").lexically_normal().parent_path().parent_path().string();
    if (std::find(prefixes.begin(), prefixes.end(), prefix) == prefixes.end()) prefixes.push_back(prefix);
  }
  return prefixes;
}

void add_if_there(const fs::path& file, std::vector<std::string>& places) {
  std::error_code ignored;
  if (fs::exists(file, ignored)) places.push_back(file.string());
}

}  // namespace

GpuSurroundings GpuSurroundings::of_this_process() {
  GpuSurroundings surroundings;
  std::error_code ignored;
  surroundings.program_folder = fs::read_symlink("/proc/self/exe", ignored).parent_path().string();
  surroundings.asked_for = variable("SHARDLENS_CUDA_LIBRARIES");
  for (const char* prefix : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (!folder_variable(prefix).empty()) surroundings.pythons.push_back(folder_variable(prefix));
  for (const std::string& prefix : pythons_in_path()) surroundings.pythons.push_back(prefix);
  if (!folder_variable("HOME").empty()) surroundings.pythons.push_back(folder_variable("HOME") + "/.local");
  surroundings.pythons.insert(surroundings.pythons.end(), {"/usr/local", "/usr"});
  if (!folder_variable("CUDA_HOME").empty()) surroundings.toolkit = folder_variable("CUDA_HOME");
  return surroundings;
}

std::vector<std::string> library_places(const std::string& library, const GpuSurroundings& surroundings) {
  std::vector<std::string> places;
  std::istringstream folders(surroundings.asked_for);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty()) continue;
    if (!fs::path(folder).is_absolute())
      throw request_error(
          fmt::format("SHARDLENS_CUDA_LIBRARIES names \"{}\", which is not a full path: write it with all "
                      "its folders, from /",
                      folder));
    add_if_there(fs::path(folder) / library, places);
  }
  const fs::path program(surroundings.program_folder);
  for (const char* beside : {".", "../lib"})
    if (program.is_absolute()) add_if_there(program / beside / library, places);
  places.push_back(library);
  for (const char* in_toolkit : {"lib64", "targets/x86_64-linux/lib"})
    add_if_there(fs::path(surroundings.toolkit) / in_toolkit / library, places);
  for (const std::string& python : surroundings.pythons) {
    for (const fs::path& version : entries(fs::path(python) / "lib")) {
      if (version.filename().string().rfind("python3", 0) != 0) continue;
      for (const char* packages : {"site-packages", "dist-packages"})
        for (const fs::path& package : entries(version / packages / "nvidia"))
          add_if_there(package / "lib" / library, places);
    }
  }
  return places;
}

}  // namespace shardlens
