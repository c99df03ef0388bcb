// Finds stopped processes among those that mpirun started on this machine, by asking the operating system.
// This explains a process that sends nothing.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace shardlens {

struct StoppedProcess {
  int index = 0;  ///< its rank in MPI's count
  pid_t pid = 0;
};

/// Returns the children of `parent` that mpirun gave a rank and that a signal (SIGSTOP, a debugger) has
/// stopped. It does not find a process that a script of its own started.
std::vector<StoppedProcess> stopped_children(pid_t parent);

/// Returns "; process 1 of 4 (number 4711 here) is stopped" for the children of this process's parent, or an
/// empty text.
std::string stopped_siblings_text(int count);

}  // namespace shardlens
