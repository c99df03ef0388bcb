// The only place where a CPU device uses more than one thread. Work is cut into items whose size does not
// depend on the number of threads, and one thread computes an item from start to end. The threads only decide
// which thread computes an item, so the bits are the same with 1 thread and with 64.
#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/device/cpu/thread_team.h"

namespace shardlens::cpu {

/// One item, in a function of its own: inlined into a loop over items, large bodies lose registers.
template <class Body>
[[gnu::noinline]] void compute_item(Body& body, int64_t item) {
  body(item);
}

/// Calls body(item) for every item in [0, items) on up to `threads` threads and returns when all are done.
/// Rethrows the first exception of a body; the other threads finish their items.
template <class Body>
void parallel_for(int threads, int64_t items, Body&& body) {
  using Work = std::remove_reference_t<Body>;
  const auto part = [](void* work, int64_t first, int64_t last) {
    for (int64_t item = first; item < last; ++item) compute_item(*static_cast<Work*>(work), item);
  };
  void* const work = const_cast<void*>(static_cast<const void*>(&body));
  if (threads <= 1 || items <= 1) return part(work, 0, items);
  ThreadTeam::of_this_thread().run(threads, items, part, work);
}

}  // namespace shardlens::cpu
