// The limits that the system sets on this process: on its memory and on its threads. Each can come from the
// process (ulimit), from one of the control groups that it is in (a container, a batch system's job) or from
// the machine, and the least one counts. They are read from /proc and /sys below `root`, so that a test can
// give other ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardlens {

/// A control group of this process.
struct ControlGroup {
  std::string folder;  ///< where its files are
  std::string name;    ///< "/job/7"
};

/// Returns the control groups of this process that `controller` ("memory", "pids") can limit, the innermost
/// first, of both versions of control groups.
std::vector<ControlGroup> control_groups(const std::string& controller, const std::string& root = "/");

/// An amount of memory, and what limits it.
struct MemoryRoom {
  int64_t bytes = 0;
  std::string limit;  ///< "control group /job/7", "ulimit -v"; empty: the machine has no more
};

/// Returns the memory that this process may have in all: the machine's, or the least limit.
MemoryRoom memory_in_all(const std::string& root = "/");
/// Returns what this process may still allocate: what is free or can be reclaimed, or what is left below the
/// tightest limit.
MemoryRoom memory_left(const std::string& root = "/");

/// Says how much memory this process holds and may have: "this process holds 1.20 GiB, and may have 1.50 GiB
/// (ulimit -v)".
std::string memory_text(const std::string& root = "/");

/// Names the limits on threads that hold for this process: "3 processes and threads of this user (ulimit
/// -u)".
std::string thread_limits_text(const std::string& root = "/");

}  // namespace shardlens
