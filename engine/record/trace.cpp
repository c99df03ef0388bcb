// The writing side of a rank's track.
#include "engine/record/trace.h"

namespace shardlens {

void RankTrace::publish(const StepEvent& event) {
  const size_t step = finished_.load(std::memory_order_relaxed);
  events_[step] = event;
  finished_.store(step + 1, std::memory_order_release);
}

}  // namespace shardlens
