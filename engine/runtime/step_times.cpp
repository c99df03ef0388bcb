// Compares predicted and measured times.
#include "engine/runtime/step_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/cost/heads_balance.h"
#include "engine/cost/pass_time.h"
#include "engine/runtime/plan.h"

namespace shardlens {
namespace {

// Adds the figure of one of `ranks` ranks to the largest value and to the mean.
void take(double seconds, size_t ranks, double& most, double& mean) {
  most = std::max(most, seconds);
  mean += seconds / static_cast<double>(ranks);
}

}  // namespace

TimeComparison compare_times(const Plan& plan, const std::vector<std::vector<StepEvent>>& events) {
  const Hardware& hardware = find_hardware(plan.program.settings.hardware);
  TimeComparison times;
  times.predicted_on = fmt::format("{}: {}", hardware.title, hardware.basis);
  times.measured_on = machine_description(plan.program.settings);
  times.steps.resize(plan.program.steps.size());
  times.means.resize(plan.program.steps.size());
  for (const std::vector<StepCost>& rank : plan.cost)
    for (size_t step = 0; step < times.steps.size(); ++step)
      take(rank[step].predicted_seconds, plan.cost.size(), times.steps[step].predicted_seconds,
           times.means[step].predicted_seconds);
  for (const std::vector<StepEvent>& rank : events) {
    const std::vector<double> waited_overlapped = seconds_waited_overlapped(plan.program, rank);
    for (size_t at = 0; at < std::min(rank.size(), times.steps.size()); ++at) {
      const Step& step = plan.program.steps[at];
      const StepEvent& event = rank[at];
      const bool meets = is_collective(step.op);
      StepTimes &most = times.steps[at], &mean = times.means[at];
      take(meets ? event.transfer_seconds() : event.seconds(), events.size(), most.measured_seconds,
           mean.measured_seconds);
      take(step.overlapped ? waited_overlapped[at]
           : meets         ? event.wait_seconds()
                           : 0,
           events.size(), most.waited_seconds, mean.waited_seconds);
      times.measured_seconds = std::max(times.measured_seconds, event.end_seconds);
    }
  }
  times.predicted_seconds = predicted_pass_seconds(plan.program, plan.cost);
  return times;
}

void set_times(Result& result, std::vector<std::vector<StepEvent>> events) {
  const std::vector<Step>& steps = result.plan->program.steps;
  result.late = lateness_of(result.plan->program, events);
  events.resize(std::min(events.size(), static_cast<size_t>(result.plan->program.tp())));
  double forward = 0, total = 0, flops = 0;
  for (const std::vector<StepEvent>& rank : events) {
    for (size_t step = 0; step < rank.size(); ++step) {
      total = std::max(total, rank[step].end_seconds);
      flops += static_cast<double>(rank[step].flops);
      if (steps[step].phase == Phase::Forward) forward = std::max(forward, rank[step].end_seconds);
    }
  }
  result.events = std::move(events);
  result.timed = true;
  result.forward_seconds = forward;
  result.backward_seconds = total - forward;
  result.flops_per_second = total > 0 ? flops / total : 0;
}

double attention_seconds(const Program& program, const RankTrace& trace) {
  double seconds = 0;
  for (const Step& step : program.steps)
    if (is_between_heads(step.op)) seconds += trace.event(static_cast<size_t>(step.id)).seconds();
  return seconds;
}

}  // namespace shardlens
