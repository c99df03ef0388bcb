// Which core a thread runs on. Two that compute or are timed must not share one while another is idle, and
// the kernel, left alone, may leave them there for long.
#pragma once

#include <span>

namespace shardlens::cpu {

/// The index-th core that this process may use becomes the only one of the calling thread; with fewer,
/// nothing changes.
void bind_to_core(int index);

/// The number of the core that the calling thread runs on, or -1 where it is not known.
int current_core();

/// Moves the calling thread to a core that it may use and that is none of `taken`; where there is none,
/// nothing changes. It is not kept there: the kernel moves it on as before.
void move_off_cores(std::span<const int> taken);

}  // namespace shardlens::cpu
