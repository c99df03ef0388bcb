// The CPU's pause instruction, for loops that spin.
#pragma once

namespace shardlens {

/// Tells the core that this loop spins. The core saves power, and leaves the loop without a mis-speculation.
#if defined(__x86_64__)
inline void relax() {
  __builtin_ia32_pause();
}
#else
inline void relax() {}
#endif

}  // namespace shardlens
