// Why a file, a folder or a program could not be used, in words for a person. The texts of std::filesystem
// begin with the name of a function and never say what would help, so every message about a file is made
// here.
#pragma once

#include <exception>
#include <filesystem>
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

/// What a person reads of an exception. The errors of this program are texts already; one of std::filesystem
/// becomes "PATH: reason and remedy", one about memory a sentence. Call it wherever a `std::exception` is
/// caught and shown.
std::string message_of(const std::exception& error);

/// Makes a folder and the folders around it, if they do not exist. Throws a request Error that names the
/// folder, the reason and a remedy.
void make_folder(const std::filesystem::path& folder);

}  // namespace shardlens
