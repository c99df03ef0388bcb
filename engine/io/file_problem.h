// Why a file, a folder or a program could not be used, in words for a person.
#pragma once

#include <string>

namespace shardlens {

/// What the system refused. The remedy depends on it.
enum class Refused {
  Read,   ///< to open or read a file
  Write,  ///< to make or write a file or a folder
  Start   ///< to start a program
};

/// The system's words for an error number (errno, or a std::error_code's value), and what would help: "No
/// space left on device; free some space there, or name a path on another disk".
std::string reason_and_remedy(int error_number, Refused what = Refused::Write);

}  // namespace shardlens
