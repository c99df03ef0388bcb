// Looks at a shared library before the system maps it. The system trusts the sizes in its header: code of a
// library that was cut off would end the program by a signal when it is touched.
#pragma once

#include <string>

namespace shardlens {

/// Returns why the file cannot be a whole shared library for x86-64, and what would help: "it is cut off: it
/// has 4096 bytes, but needs 97832; copy it again, or build it". Empty if its header, segments and sections
/// all lie within it.
std::string damage_of_library(const std::string& path);

}  // namespace shardlens
