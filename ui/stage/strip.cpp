// Where a step's time belongs in the strip.
#include "ui/stage/strip.h"

#include <algorithm>

namespace shardlens::ui::stage {
namespace {

using Kind = StripSegment::Kind;

bool runs_again(const Step& step) {
  switch (step.op) {
    case Op::Linear:
    case Op::BiasAdd:
    case Op::Gelu:
    case Op::LayerNorm:
    case Op::LayerNormSums:
    case Op::LayerNormApply:
    case Op::Attention:
      return step.phase == Phase::Backward;
    default:
      return false;
  }
}

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
  double thread_free = 0, lane_free = 0;  // of the lane's sums over the ranks; those over replicas have a row
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
    const Kind compute = runs_again(step) ? Kind::Again : Kind::Compute;
    switch (strip.unit) {
      case StripUnit::Measured: {
        if (s >= result->events[0].size()) break;
        const StepEvent& event = result->events[0][s];
        if (step.beside && step.axis == Axis::Tp) {
          lane_free = event.end_seconds;
          break;
        }
        // Of what went on beside the steps counts what they waited for it.
        append(side, Kind::Wait, std::min(lane_free, event.begin_seconds) - thread_free);
        if (!step.beside) thread_free = event.end_seconds;
        if (meets) {
          append(side, Kind::Wait, event.wait_seconds());
          append(side, Kind::Transfer, event.transfer_seconds());
        } else {
          append(side, compute, event.seconds());
        }
        break;
      }
      case StripUnit::Estimated:
        append(side, meets ? Kind::Transfer : compute, plan.cost[0][s].predicted_seconds);
        break;
      case StripUnit::Flops:
        if (!plan.cost.empty()) append(side, compute, static_cast<double>(plan.cost[0][s].flops));
        break;
    }
  }
  for (const StripRow& row : strip.rows)
    strip.longest = std::max({strip.longest, row.forward.amount, row.backward.amount});
  return strip;
}

}  // namespace shardlens::ui::stage
