// Finds out which processes of a run have ended, by asking the operating system of this machine. Without it,
// a silent process is noticed only after the time-out. mpirun ends all other processes when it has lost one,
// and that leaves them little time to report which; for a process on the same machine this check answers at
// once.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>

namespace shardlens {

/// Identifies one process among all that its machine has run since boot.
struct ProcessIdentity {
  int64_t pid = 0;       ///< 0: not known
  uint64_t started = 0;  ///< in ticks since the machine was booted
};

/// Returns the identity of this process.
ProcessIdentity own_identity();

/// True if the process still runs. A zombie (it has ended, but its parent has not waited for it) counts as
/// ended.
bool goes_on(const ProcessIdentity& process);

class DepartedProcesses {
 public:
  /// Call this before any has_ended(). A process that is not visible from here is never reported as ended.
  void watch(int process, const ProcessIdentity& identity);
  /// May be called from any thread, as often as needed: it asks the system only at intervals.
  bool has_ended(int process) const;

 private:
  struct Watched {
    ProcessIdentity identity;
    std::atomic<double> looked_at_seconds{0};
    std::atomic<bool> ended{false};
  };
  mutable std::map<int, Watched> watched_;  ///< its entries change, the map does not
};

}  // namespace shardlens
