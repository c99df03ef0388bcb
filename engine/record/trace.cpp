// The writing side of a rank's track.
#include "engine/record/trace.h"

namespace shardlens {

void RankTrace::publish(size_t step, const StepEvent& event) {
  const std::lock_guard lock(writers_);
  events_[step] = event;
  known_[step] = true;
  size_t finished = finished_.load(std::memory_order_relaxed);
  while (finished < known_.size() && known_[finished]) ++finished;
  finished_.store(finished, std::memory_order_release);
}

void RankTrace::reset() {
  const std::lock_guard lock(writers_);
  known_.assign(known_.size(), false);
  finished_.store(0, std::memory_order_release);
}

}  // namespace shardlens
