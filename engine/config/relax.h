// What a loop does that waits for a moment, awake.
#pragma once

namespace shardlens {

/// Tells the core that this is a waiting loop, so that it saves power and leaves it without a
/// mis-speculation.
#if defined(__x86_64__)
inline void relax() {
  __builtin_ia32_pause();
}
#else
inline void relax() {}
#endif

}  // namespace shardlens
