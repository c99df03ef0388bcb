// Where NVIDIA's libraries lie on a machine where nobody told the linker: beside the program, in the toolkit,
// or in the folder of a Python that has them.
#pragma once

#include <string>
#include <vector>

namespace shardlens {

/// What the places depend on.
struct Surroundings {
  std::string program_folder;
  std::string asked_for;  ///< SHARDLENS_CUDA_LIBRARIES: folders with colons between them
  std::vector<std::string>
      pythons;  ///< prefixes: of the active environment, of those in PATH, of the user's own, /usr/local, /usr
  std::string toolkit = "/usr/local/cuda";

  static Surroundings of_this_process();
};

/// What to give dlopen() for `library` (libnccl.so.2), in this order: its name alone where the machine's
/// linker finds it, behind the folders that were asked for and the program's own; then every file of that
/// name in the toolkit and in Pythons' nvidia packages.
std::vector<std::string> library_places(const std::string& library, const Surroundings& surroundings);

}  // namespace shardlens
