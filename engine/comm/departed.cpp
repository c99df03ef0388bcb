// Reads the state and start time of processes from /proc.
#include "engine/comm/departed.h"

#include <unistd.h>

#include <sstream>
#include <string>

#include "engine/base/clock.h"
#include "engine/io/proc_file.h"

namespace shardlens {
namespace {

constexpr double kLookEverySeconds = 0.02;

struct Standing {
  char state = ' ';  // ' ': there is no such process
  uint64_t started = 0;
};

Standing standing_of(int64_t pid) {
  const std::string stat = read_proc_file("/proc/" + std::to_string(pid) + "/stat").value_or("");
  // After the name, which may contain any character: the state, and eighteen numbers before the start time.
  const size_t name_end = stat.rfind(')');
  Standing standing;
  if (name_end == std::string::npos) return standing;
  std::istringstream fields(stat.substr(name_end + 1));
  fields >> standing.state;
  std::string skipped;
  for (int field = 0; field < 18; ++field) fields >> skipped;
  fields >> standing.started;
  return standing;
}

}  // namespace

ProcessIdentity own_identity() {
  const int64_t pid = getpid();
  const Standing standing = standing_of(pid);
  return standing.state == ' ' ? ProcessIdentity{} : ProcessIdentity{pid, standing.started};
}

bool goes_on(const ProcessIdentity& process) {
  if (process.pid == 0) return false;
  const Standing standing = standing_of(process.pid);
  const bool is_over = standing.state == ' ' || standing.state == 'Z' || standing.state == 'X';
  return !is_over && standing.started == process.started;
}

void DepartedProcesses::watch(int process, const ProcessIdentity& identity) {
  if (goes_on(identity)) watched_[process].identity = identity;
}

bool DepartedProcesses::has_ended(int process) const {
  const auto found = watched_.find(process);
  if (found == watched_.end()) return false;
  Watched& watched = found->second;
  if (watched.ended) return true;
  const double now = now_seconds();
  if (now - watched.looked_at_seconds < kLookEverySeconds) return false;
  watched.looked_at_seconds = now;
  if (!goes_on(watched.identity)) watched.ended = true;
  return watched.ended;
}

}  // namespace shardlens
