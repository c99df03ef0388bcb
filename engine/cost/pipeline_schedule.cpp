// Computes the schedule from the dependencies of each piece of work.
#include "engine/cost/pipeline_schedule.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/config/error.h"

namespace shardlens {
namespace {

struct StageWork {
  int part = 0;
  bool forward = true;
};

// Returns the work of a stage in order: forwards until the stages after it are filled, then one backward and
// one forward in turn, then the remaining backwards.
std::vector<StageWork> order_of(int stage, int stages, int parts) {
  std::vector<StageWork> order;
  const int ahead = std::min(parts, stages - stage);
  for (int part = 0; part < ahead; ++part) order.push_back({part, true});
  for (int part = 0; part < parts; ++part) {
    order.push_back({part, false});
    if (part + ahead < parts) order.push_back({part + ahead, true});
  }
  return order;
}

constexpr double kNotYet = -1;

}  // namespace

double PipelineSchedule::idle_share() const {
  double busy = 0;
  for (const PipelineSlot& slot : slots) busy += slot.end - slot.begin;
  return 1 - busy / (length * stages);
}

PipelineSchedule schedule_pipeline(int stages, int parts, double forward, double backward) {
  if (stages < 1 || parts < 1)
    throw request_error(
        fmt::format("a pipeline of {} stages and {} parts: both must be 1 or more", stages, parts));
  PipelineSchedule schedule{stages, parts, {}, 0};
  const auto count = static_cast<size_t>(stages), width = static_cast<size_t>(parts);
  std::vector<std::vector<StageWork>> orders;
  for (int stage = 0; stage < stages; ++stage) orders.push_back(order_of(stage, stages, parts));
  // The time when a stage has finished a part, forward and backward.
  std::vector<std::vector<double>> there(count, std::vector<double>(width, kNotYet)), back = there;
  std::vector<size_t> next(count, 0);
  std::vector<double> free(count, 0);
  std::vector<std::vector<PipelineSlot>> slots(count);
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t stage = 0; stage < count; ++stage) {
      while (next[stage] < orders[stage].size()) {
        const StageWork& work = orders[stage][next[stage]];
        const auto part = static_cast<size_t>(work.part);
        // A forward needs the stage before, and a backward the stage after. In the last stage a backward
        // needs its own forward.
        const double needed = work.forward         ? (stage == 0 ? 0 : there[stage - 1][part])
                              : stage + 1 == count ? there[stage][part]
                                                   : back[stage + 1][part];
        if (needed == kNotYet) break;
        PipelineSlot slot{static_cast<int>(stage), work.part, work.forward, std::max(free[stage], needed), 0};
        slot.end = slot.begin + (work.forward ? forward : backward);
        (work.forward ? there : back)[stage][part] = free[stage] = slot.end;
        slots[stage].push_back(slot);
        schedule.length = std::max(schedule.length, slot.end);
        ++next[stage];
        moved = true;
      }
    }
  }
  for (const std::vector<PipelineSlot>& stage : slots)
    schedule.slots.insert(schedule.slots.end(), stage.begin(), stage.end());
  return schedule;
}

}  // namespace shardlens
