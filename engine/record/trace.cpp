// Writes a rank's track, and computes how long its thread waited for the lane.
#include "engine/record/trace.h"

#include <algorithm>
#include <limits>

#include "engine/program/beside.h"

namespace shardlens {

std::vector<double> seconds_waited_beside(const Program& program, const std::vector<StepEvent>& events) {
  const std::vector<bool> behind = steps_behind_lane(program);
  std::vector<double> waited(program.steps.size(), 0);
  std::vector<size_t> in_lane;
  double thread_free = 0;
  const auto empty_lane = [&](double until) {
    for (const size_t id : in_lane) {
      const double end = std::min(events[id].end_seconds, until);
      waited[id] = std::max(0.0, end - thread_free);
      thread_free = std::max(thread_free, end);
    }
    in_lane.clear();
  };
  for (size_t id = 0; id < std::min(events.size(), program.steps.size()); ++id) {
    if (program.steps[id].beside) {
      in_lane.push_back(id);
      continue;
    }
    if (behind[id]) empty_lane(events[id].begin_seconds);
    thread_free = events[id].end_seconds;
  }
  empty_lane(std::numeric_limits<double>::infinity());  // a pass ends when the lane is empty too
  return waited;
}

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
