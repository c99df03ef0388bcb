// Finds NVIDIA's libraries if the linker does not know them: next to the program, in the toolkit, or in the
// folder of a Python that has them.
#pragma once

#include <string>
#include <vector>

namespace shardlens {

/// The facts about a process that decide where to look.
struct GpuSurroundings {
  std::string program_folder;
  std::string asked_for;  ///< SHARDLENS_CUDA_LIBRARIES: folders, separated by colons
  std::vector<std::string>
      pythons;  ///< prefixes: the active environment, those in PATH, the user's own, /usr/local, /usr
  std::string toolkit = "/usr/local/cuda";

  static GpuSurroundings of_this_process();
};

/// The names to try with dlopen() for `library` (libnccl.so.2), in order: files in the folders of `asked_for`
/// and of the program, the bare name, which the linker looks up, and files in the toolkit and in the Pythons'
/// nvidia packages. Files have absolute paths. Throws a request Error if `asked_for` names a folder without
/// its full path: it would depend on the current folder.
std::vector<std::string> library_places(const std::string& library, const GpuSurroundings& surroundings);

}  // namespace shardlens
