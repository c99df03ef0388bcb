// A thread that is timed stays on one core: moved about, two of them share one for a while.
#pragma once

namespace shardlens::cpu {

/// The index-th core that this process may use becomes the only one of the calling thread; with fewer,
/// nothing changes.
void bind_to_core(int index);

}  // namespace shardlens::cpu
