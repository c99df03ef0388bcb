// The only place where a CPU device uses more than one thread. Work is cut into items whose size does not
// depend on the number of threads, and one thread computes an item from start to end. The threads only decide
// which thread computes an item, so the bits are the same with 1 thread and with 64.
#pragma once

#include <omp.h>

#include <atomic>
#include <cstdint>
#include <exception>

namespace shardlens::cpu {

/// Calls body(item) for every item in [0, items) on up to `threads` threads and returns when all are done.
/// Rethrows the first exception of a body.
template <class Body>
void parallel_for(int threads, int64_t items, Body&& body) {
  if (threads <= 1 || items <= 1) {
    for (int64_t item = 0; item < items; ++item) body(item);
    return;
  }
  std::exception_ptr failure;
  const int team = static_cast<int>(items < threads ? items : threads);
  // OpenMP orders memory accesses at the team's begin and end, but the thread sanitizer cannot see that.
  // These two repeat the order for it.
  std::atomic<int> begun = 0, ended = 0;
  begun.store(1, std::memory_order_release);
#pragma omp parallel num_threads(team)
  {
    begun.load(std::memory_order_acquire);
#pragma omp for schedule(static) nowait
    for (int64_t item = 0; item < items; ++item) {
      try {
        body(item);
      } catch (...) {
#pragma omp critical(shardlens_parallel_for)
        if (!failure) failure = std::current_exception();
      }
    }
    ended.fetch_add(1, std::memory_order_release);
  }
  ended.load(std::memory_order_acquire);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace shardlens::cpu
