// Chooses the core that a thread runs on. Two threads that compute or are timed must not share a core while
// another one is idle. The operating system may leave them there for a long time.
#pragma once

#include <span>
#include <vector>

namespace shardlens::cpu {

/// The numbers of the cores that the calling thread may run on; core 0 alone where that is not known.
std::vector<int> usable_cores();

/// Binds the calling thread to the index-th core that this process may use. Does nothing if there are fewer.
void bind_to_core(int index);

/// The number of the core that the calling thread runs on, or -1 if it is not known.
int current_core();

/// Moves the calling thread to a core that it may use and that is not in `taken`. Does nothing if there is
/// none. The operating system may move the thread again later.
void move_off_cores(std::span<const int> taken);

}  // namespace shardlens::cpu
