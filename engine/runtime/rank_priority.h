// The priority of the ranks' threads: if this process has a window, drawing never waits for them.
#pragma once

namespace shardlens {

/// Tells if this process has a window. If it has, ranks that begin from now on compute at the lowest
/// priority, so drawing never waits for them.
void set_beside_a_window(bool is);

/// Lowers the priority of the calling thread, a rank's, if this process has a window.
void take_rank_priority();

}  // namespace shardlens
