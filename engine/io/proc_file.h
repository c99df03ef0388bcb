// Reads the files under /proc. A process can end between two system calls: its file is then gone, or a read
// of the open file fails with ESRCH, where the streams of the standard library throw.
#pragma once

#include <optional>
#include <string>

namespace shardlens {

/// Returns the whole file; nothing if there is none, or if its process ends while it is read.
std::optional<std::string> read_proc_file(const std::string& path);

/// The same for a file that is open already, from where it stands.
std::optional<std::string> rest_of_proc_file(int file);

}  // namespace shardlens
