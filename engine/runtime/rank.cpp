// Runs steps on a rank's device, and sets up what they need.
#include "engine/runtime/rank.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/rate.h"
#include "engine/runtime/execute.h"
#include "engine/runtime/gpu_room.h"
#include "engine/runtime/snapshot.h"

namespace shardlens {

namespace {

/// The logits of a Program whose passes continue a text; kNoTensor for other Programs.
TensorId logits_of_text(const Program& program) {
  const bool continues_text = std::ranges::any_of(
      program.tensors, [](const Tensor& tensor) { return tensor.kind == MemoryKind::KeyValueCache; });
  return continues_text ? kept_result(program, Role::Logits) : kNoTensor;
}

}  // namespace

Rank::Rank(const Plan& of_plan, int world_rank, bool is_here, RankGroups of_rank)
    : plan(of_plan),
      index(world_rank % plan.program.tp()),
      replica(world_rank / plan.program.tp()),
      here(is_here),
      groups(std::move(of_rank)),
      trace(std::make_unique<RankTrace>(plan.program.steps.size())) {
  for (const PlannedDelay& hold : plan.delays)
    if (hold.rank == world_rank) delays[hold.step] += hold.seconds;
}

void Rank::prepare(bool overlaps) {
  const Program& program = plan.program;
  groups.layer->attach(*device);
  groups.replicas->attach(*device);
  groups.same_slice->attach(*device);
  groups.layer->make_room(packed_copy_bytes(program, index));
  memory->make_staging_room();
  if (device->behind() != nullptr) {
    asked = std::make_unique<AskedSteps>(program, *device->behind());
    result_ = logits_of_text(program);
    if (result_ != kNoTensor && result_bytes() == 0) result_ = kNoTensor;
    if (result_ != kNoTensor) device->behind()->provide_fetch(result_bytes());
    repeats_ = delays.empty() && program.steps.size() > 1 &&
               std::all_of(program.steps.begin(), program.steps.end(), is_same_in_every_pass);
    return;
  }
  // A lane would fetch into the same staging room as its rank, so a rank has a lane only if nothing is
  // fetched.
  const bool lanes = overlaps && std::any_of(program.steps.begin(), program.steps.end(),
                                             [](const Step& step) { return step.overlapped; });
  if (lanes && device->host_visible()) lane = std::make_unique<SideLane>();
}

std::optional<int> Rank::failed_member() const {
  const int tp = plan.program.tp();
  for (const auto& [group, apart] :
       {std::pair(groups.layer.get(), 1), {groups.replicas.get(), tp}, {groups.same_slice.get(), 1}})
    if (const auto failed = group->failed_rank()) return world() + (*failed - group->rank()) * apart;
  return std::nullopt;
}

// Runs steps on the rank's device; for a collective it also notes where this rank is.
CollectiveTimes Rank::run(std::span<const Step> steps, const PassNumbers& numbers) {
  const Step& step = steps.front();
  RankContext context{
      plan.program,     index,  replica, *device, *groups.layer, *groups.replicas, *groups.same_slice,
      memory->arenas(), numbers};
  if (repeats_ && steps.size() == plan.program.steps.size()) {
    run_pass(context);
    return {};
  }
  if (steps.size() > 1) {
    execute_together(steps, context);
    return {};
  }
  if (!is_collective(step.op)) return execute(step, context);
  RankMeeting& meeting = meetings[step.overlapped && !asked ? 1 : 0];  // it meets the others while it asks
  meeting.step = step.id;
  meeting.inside = true;
  const CollectiveTimes times = execute(step, context);
  meeting.inside = false;
  return times;
}

// Launching a short step costs the host more than the GPU needs to compute it. So the device is asked to keep
// the work of a pass and then repeats it with one call. First come some passes in which it chooses algorithms
// and makes what it keeps for each shape.
void Rank::run_pass(RankContext& context) {
  constexpr int kPassesBefore = 4;
  WorkBehind& behind = *device->behind();
  const auto ask = [&] {
    std::span<const Step> left = steps_of(plan.program, replica);
    while (!left.empty()) {
      const size_t count = count_together(plan.program, left, false);
      if (count > 1)
        execute_together(left.first(count), context);
      else
        execute(left.front(), context);
      left = left.subspan(count);
    }
  };
  if (!captured_ && whole_passes_ == kPassesBefore) captured_ = behind.capture(ask);
  if (captured_) return behind.replay();
  ++whole_passes_;
  ask();
}

void Rank::run_steps(std::span<const Step> steps, const PassNumbers& numbers, bool traced,
                     double begin_of_pass, double held_seconds) {
  const Step& step = steps.front();
  StepEvent event;
  event.held_seconds = held_seconds;
  event.flops = cost_of(step.id).flops;
  if (asked) {
    asked->ask(steps, traced, [&] {
      event.sent_bytes = run(steps, numbers).sent_bytes;
      event.high_water_bytes = memory->arenas().high_water_bytes();
      return event;
    });
    result_came_ = !traced && result_ != kNoTensor && steps.back().id == plan.program.steps.back().id;
    if (result_came_) device->behind()->fetch(memory->arenas().at(result_), result_bytes());
    return;
  }
  if (traced) event.begin_seconds = now_seconds() - begin_of_pass;
  const CollectiveTimes times = run(steps, numbers);
  if (!traced) return;
  event.end_seconds = now_seconds() - begin_of_pass;
  if (is_collective(step.op)) {
    event.arrival_seconds = times.arrival_seconds - begin_of_pass;
    event.all_arrived_seconds = times.all_arrived_seconds - begin_of_pass;
    event.sent_bytes = times.sent_bytes;
  }
  event.high_water_bytes = memory->arenas().high_water_bytes();
  trace->publish(static_cast<size_t>(step.id), event);
}

void Rank::read(TensorId tensor, void* host) const {
  if (tensor != result_ || !result_came_ || written) return memory->fetch(plan.program.tensor(tensor), host);
  std::memcpy(host, device->behind()->fetched(), result_bytes());
}

size_t Rank::result_bytes() const {
  return static_cast<size_t>(local_bytes(plan.program.tensor(result_), plan.program.tp(), index));
}

void Rank::look_up(size_t left, bool traced, double begin_of_pass,
                   const std::function<double(StepId)>& last_arrival, StepId& at) {
  if (!traced) return asked->look_up_untraced(left, at);
  asked->look_up(left, at, [&](StepId first, StepId last, StepEvent event) {
    event.begin_seconds -= begin_of_pass;
    event.end_seconds -= begin_of_pass;
    if (first != last) return publish_together(first, last, event);
    if (is_collective(plan.program.step(first).op)) {
      event.arrival_seconds = event.begin_seconds;
      event.all_arrived_seconds =
          std::min(std::max(event.begin_seconds, last_arrival(first) - begin_of_pass), event.end_seconds);
    }
    trace->publish(static_cast<size_t>(first), event);
  });
}

// Publishes steps that the device did together in the time of `all`. Each gets its share of it by the
// predicted times, or by the bytes that it touches if no speed of the hardware is known.
void Rank::publish_together(StepId first, StepId last, const StepEvent& all) {
  const auto sum_of = [&](const auto& part) {
    double sum = 0;
    for (StepId id = first; id <= last; ++id) sum += part(cost_of(id));
    return sum;
  };
  const auto predicted = [](const StepCost& cost) { return cost.predicted_seconds; };
  const auto touched = [](const StepCost& cost) { return static_cast<double>(cost.touched_bytes); };
  const double seconds = sum_of(predicted), bytes = sum_of(touched);
  StepEvent event = all;
  event.timed_together = last - first + 1;
  double before = 0;  // the share of the steps up to this one
  for (StepId id = first; id <= last; ++id) {
    before += seconds > 0 ? predicted(cost_of(id)) / seconds : ratio_or_zero(touched(cost_of(id)), bytes);
    event.end_seconds =
        id == last ? all.end_seconds : all.begin_seconds + std::min(before, 1.0) * all.seconds();
    event.flops = cost_of(id).flops;
    trace->publish(static_cast<size_t>(id), event);
    event.begin_seconds = event.end_seconds;
    event.held_seconds = 0;  // that was before the first
  }
}

const StepCost& Rank::cost_of(StepId id) const {
  return plan.cost[static_cast<size_t>(index)][static_cast<size_t>(id)];
}

StepId Rank::met_in(StepId step) const {
  if (step >= 0 && is_collective(plan.program.step(step).op)) return step;
  StepId last = -1;
  for (const RankMeeting& meeting : meetings) last = std::max(last, meeting.step.load());
  return last;
}

}  // namespace shardlens
