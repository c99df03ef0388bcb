// Which of a run's processes have ended, as the system of their machine sees it. A process that says nothing
// is missed when the time-out is over, and mpirun, which ends all others when it has lost one, leaves them
// little time to say which: of one on the same machine it can be known at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>

namespace shardlens {

/// A process among all that its machine has run since it was booted.
struct ProcessIdentity {
  int64_t pid = 0;       ///< 0: not known
  uint64_t started = 0;  ///< in ticks since the machine was booted
};

/// Of this process.
ProcessIdentity own_identity();

/// False also of one that has ended and that nobody has asked for yet.
bool goes_on(const ProcessIdentity& process);

class DepartedProcesses {
 public:
  /// Before anybody asks. One that cannot be seen from here is never said to have ended.
  void watch(int process, const ProcessIdentity& identity);
  /// Any thread, as often as it likes: the system is asked now and then.
  bool has_ended(int process) const;

 private:
  struct Watched {
    ProcessIdentity identity;
    std::atomic<double> looked_at_seconds{0};
    std::atomic<bool> ended{false};
  };
  mutable std::map<int, Watched> watched_;  ///< its entries are changed, it is not
};

}  // namespace shardlens
