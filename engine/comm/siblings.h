// The processes that mpirun started on this machine beside this one, as the operating system sees them: what
// can be known of one that says nothing.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace shardlens {

struct StoppedProcess {
  int index = 0;  ///< its rank in MPI's count
  pid_t pid = 0;
};

/// Children of `parent` that stand still by a signal (SIGSTOP, a debugger), of those that mpirun gave a rank.
/// A process behind a script of its own is not found.
std::vector<StoppedProcess> stopped_children(pid_t parent);

/// "; process 1 of 4 (number 4711 here) is stopped" for who started this process, or nothing.
std::string stopped_siblings_text(int count);

}  // namespace shardlens
