// Adds the time of each step to its part and side of the strip.
#include "ui/stage/strip.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/cost/pass_time.h"

namespace shardlens::ui::stage {
namespace {

using Kind = StripSegment::Kind;

void append(StripSide& side, Kind kind, double amount) {
  if (amount <= 0) return;
  side.amount += amount;
  if (kind == Kind::Wait || kind == Kind::Transfer) side.communication += amount;
  if (!side.segments.empty() && side.segments.back().kind == kind) {
    side.segments.back().amount += amount;
  } else {
    side.segments.push_back({kind, amount});
  }
}

/// Adds each part's parameters and its output.
void add_tensors(const Program& program, const Sections& sections, Strip& strip) {
  for (size_t i = 0; i < sections.list.size(); ++i) {
    StripRow& row = strip.rows[i];
    std::set<TensorId> weights;
    for (const StepId id : sections.list[i].steps) {
      const Step& step = program.step(id);
      if (step.phase != Phase::Forward) continue;
      for (const TensorId input : step.inputs)
        if (program.tensor(input).kind == MemoryKind::Weight) weights.insert(input);
      if (!step.outputs.empty()) row.output = step.outputs.front();
    }
    for (int rank = 0; rank < program.tp(); ++rank) {
      int64_t bytes = 0;
      for (const TensorId weight : weights) bytes += local_bytes(program.tensor(weight), program.tp(), rank);
      row.weight_bytes = std::max(row.weight_bytes, bytes);
    }
  }
}

StripUnit unit_of(const Plan& plan, const Result* result) {
  if (result && result->timed && !result->events.empty()) return StripUnit::Measured;
  if (plan.cost.empty()) return StripUnit::Flops;
  const bool predicted = std::any_of(plan.cost[0].begin(), plan.cost[0].end(),
                                     [](const StepCost& cost) { return cost.predicted_seconds > 0; });
  return predicted ? StripUnit::Estimated : StripUnit::Flops;
}

}  // namespace

Strip make_strip(const Plan& plan, const Result* result, const Sections& sections) {
  const Program& program = plan.program;
  Strip strip;
  strip.unit = unit_of(plan, result);
  strip.rows.resize(sections.list.size());
  std::vector<std::vector<StepEvent>> predicted{{}};
  if (strip.unit == StripUnit::Estimated) predicted = predicted_events(program, {plan.cost[0]});
  const auto& events = (strip.unit == StripUnit::Measured ? result->events : predicted)[0];
  const std::vector<double> waited = seconds_waited_overlapped(program, events);
  for (const Step& step : program.steps) {
    const auto s = static_cast<size_t>(step.id);
    StripRow& row = strip.rows[static_cast<size_t>(sections.of_step[s])];
    StripSide& side = step.phase == Phase::Forward ? row.forward : row.backward;
    if (side.first < 0) side.first = step.id;
    const bool meets = is_collective(step.op);
    if (meets) {
      ++side.collectives;
      side.sent_bytes += sent_bytes(program, step.id);
    }
    const Kind compute = is_recomputed(step) ? Kind::Again : Kind::Compute;
    if (strip.unit == StripUnit::Flops) {
      if (!plan.cost.empty()) append(side, compute, static_cast<double>(plan.cost[0][s].flops));
    } else if (s < events.size()) {
      const StepEvent& event = events[s];
      if (step.overlapped && step.axis == Axis::Tp) {
        append(side, Kind::Wait, waited[s]);  // of steps that wait for it; those over replicas have a row
      } else if (meets) {
        append(side, Kind::Wait, event.wait_seconds());
        append(side, Kind::Transfer, event.transfer_seconds());
      } else {
        append(side, compute, event.seconds());
      }
    }
  }
  add_tensors(program, sections, strip);
  for (const StripRow& row : strip.rows)
    strip.longest = std::max({strip.longest, row.forward.amount, row.backward.amount});
  return strip;
}

double rms_of(const Program& program, const Result* result, TensorId tensor) {
  if (result == nullptr || tensor == kNoTensor) return NAN;
  const bool copies = program.tensor(tensor).layout.kind == LayoutKind::Replicated;
  double squares = 0, count = 0;
  for (int rank = 0; rank < (copies ? 1 : program.tp()); ++rank) {
    const auto r = static_cast<size_t>(rank), t = static_cast<size_t>(tensor);
    if (r >= result->samples.size() || t >= result->samples[r].size() || !result->samples[r][t]) return NAN;
    const TensorStats& stats = result->samples[r][t]->stats;
    squares += stats.rms * stats.rms * static_cast<double>(stats.count);
    count += static_cast<double>(stats.count);
  }
  return count > 0 ? std::sqrt(squares / count) : NAN;
}

}  // namespace shardlens::ui::stage
