// Goes through the steps, for all ranks at a time.
#include "engine/cost/pass_time.h"

#include <algorithm>

#include "engine/program/overlap_waits.h"

namespace shardlens {

std::vector<std::vector<StepEvent>> predicted_events(const Program& program,
                                                     const std::vector<std::vector<StepCost>>& cost) {
  std::vector<std::vector<StepEvent>> events(cost.size());
  const std::vector<bool> behind_lane = waits_for_overlapped(program);
  std::vector<double> thread(cost.size(), 0.0), lane(cost.size(), 0.0);  // [rank]: when it is free
  std::vector<double> begins;                                            // [rank], of a step
  for (std::vector<StepEvent>& rank : events) rank.reserve(program.steps.size());
  for (size_t step = 0; step < program.steps.size(); ++step) {
    const bool meets = is_collective(program.steps[step].op);
    const bool overlapped = program.steps[step].overlapped;
    begins = thread;
    for (size_t rank = 0; rank < cost.size(); ++rank)
      if (overlapped || behind_lane[step]) begins[rank] = std::max(thread[rank], lane[rank]);
    const double all_arrived = begins.empty() ? 0 : *std::max_element(begins.begin(), begins.end());
    for (size_t rank = 0; rank < cost.size(); ++rank) {
      const StepCost& own = cost[rank][step];
      StepEvent event;
      event.begin_seconds = begins[rank];
      event.flops = own.flops;
      event.sent_bytes = own.sent_bytes;
      if (meets) {
        event.arrival_seconds = begins[rank];
        event.all_arrived_seconds = all_arrived;
      }
      event.end_seconds = (meets ? all_arrived : begins[rank]) + own.predicted_seconds;
      (overlapped ? lane : thread)[rank] = event.end_seconds;
      events[rank].push_back(event);
    }
  }
  return events;
}

double predicted_pass_seconds(const Program& program, const std::vector<std::vector<StepCost>>& cost) {
  double seconds = 0;
  for (const std::vector<StepEvent>& rank : predicted_events(program, cost))
    for (const StepEvent& event : rank) seconds = std::max(seconds, event.end_seconds);
  return seconds;
}

std::vector<StepCost> costs_in_turn(const Program& program, std::vector<StepCost> costs) {
  if (std::ranges::none_of(program.steps, &Step::overlapped)) return costs;
  const std::vector<double> waited =
      seconds_waited_overlapped(program, predicted_events(program, {costs}).front());
  for (const Step& step : program.steps) {
    const auto at = static_cast<size_t>(step.id);
    if (step.overlapped) costs[at].predicted_seconds = waited[at];
  }
  return costs;
}

ComputeRatio compute_ratio(const Program& program, const std::vector<StepCost>& costs,
                           std::optional<Phase> phase) {
  ComputeRatio ratio;
  for (const Step& step : program.steps) {
    if (phase && step.phase != *phase) continue;
    const double seconds = costs[static_cast<size_t>(step.id)].predicted_seconds;
    (is_collective(step.op) ? ratio.communicate_seconds : ratio.compute_seconds) += seconds;
  }
  return ratio;
}

}  // namespace shardlens
