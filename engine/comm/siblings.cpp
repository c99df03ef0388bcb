// Looks through /proc for stopped processes.
#include "engine/comm/siblings.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "engine/io/proc_file.h"

namespace shardlens {
namespace {

namespace fs = std::filesystem;

// Empty if the process has ended.
std::string content(const fs::path& file) {
  return read_proc_file(file.string()).value_or("");
}

// Reads /proc/PID/stat after the name, because the name may contain any character.
bool is_stopped_child(const fs::path& process, pid_t parent) {
  const std::string stat = content(process / "stat");
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return false;
  std::istringstream fields(stat.substr(name_end + 1));
  char state = ' ';
  pid_t its_parent = 0;
  fields >> state >> its_parent;
  return its_parent == parent && (state == 'T' || state == 't');
}

// Returns the rank that mpirun gave the process, or -1 if it gave none.
int rank_of(const fs::path& process) {
  const std::string wanted = "OMPI_COMM_WORLD_RANK=";
  std::istringstream environment(content(process / "environ"));
  for (std::string variable; std::getline(environment, variable, '\0');)
    if (variable.rfind(wanted, 0) == 0) return std::atoi(variable.c_str() + wanted.size());
  return -1;
}

}  // namespace

std::vector<StoppedProcess> stopped_children(pid_t parent) {
  std::vector<StoppedProcess> found;
  std::error_code problem;
  for (fs::directory_iterator at("/proc", problem), end; !problem && at != end; at.increment(problem)) {
    const std::string name = at->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (!is_stopped_child(at->path(), parent)) continue;
    const int rank = rank_of(at->path());
    if (rank >= 0) found.push_back({rank, static_cast<pid_t>(std::atoi(name.c_str()))});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
  return found;
}

std::string stopped_siblings_text(int count) {
  std::string text;
  for (const StoppedProcess& one : stopped_children(getppid()))
    text += "; process " + std::to_string(one.index) + " of " + std::to_string(count) + " (number " +
            std::to_string(one.pid) + " here) is stopped";
  return text;
}

}  // namespace shardlens
