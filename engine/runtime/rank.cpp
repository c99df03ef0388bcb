// Runs steps on a rank's device, and sets up what they need.
#include "engine/runtime/rank.h"

#include <algorithm>
#include <utility>

#include "engine/base/clock.h"
#include "engine/runtime/execute.h"
#include "engine/runtime/gpu_room.h"
#include "engine/runtime/snapshot.h"

namespace shardlens {

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

void Rank::prepare() {
  const Program& program = plan.program;
  groups.layer->attach(*device);
  groups.replicas->attach(*device);
  groups.same_slice->attach(*device);
  groups.layer->make_room(packed_copy_bytes(program, index));
  memory->make_staging_room();
  if (device->behind() != nullptr) {
    asked = std::make_unique<AskedSteps>(program, *device->behind());
    repeats_ = delays.empty() && program.steps.size() > 1 &&
               std::all_of(program.steps.begin(), program.steps.end(), is_same_in_every_pass);
    return;
  }
  // A lane would fetch into the same staging room as its rank, so a rank has a lane only if nothing is
  // fetched.
  const bool lanes = std::any_of(program.steps.begin(), program.steps.end(),
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
    for (const Step& step : steps_of(plan.program, replica)) execute(step, context);
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
  event.flops = plan.cost[static_cast<size_t>(index)][static_cast<size_t>(step.id)].flops;
  if (asked) {
    asked->ask(steps, traced, [&] {
      event.sent_bytes = run(steps, numbers).sent_bytes;
      event.high_water_bytes = memory->arenas().high_water_bytes();
      return event;
    });
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

void Rank::look_up(size_t left, bool traced, double begin_of_pass,
                   const std::function<double(StepId)>& last_arrival, StepId& at) {
  if (!traced) return asked->look_up_untraced(left, at);
  asked->look_up(left, at, [&](StepId id, StepEvent event) {
    event.begin_seconds -= begin_of_pass;
    event.end_seconds -= begin_of_pass;
    if (is_collective(plan.program.step(id).op)) {
      event.arrival_seconds = event.begin_seconds;
      event.all_arrived_seconds =
          std::min(std::max(event.begin_seconds, last_arrival(id) - begin_of_pass), event.end_seconds);
    }
    trace->publish(static_cast<size_t>(id), event);
  });
}

StepId Rank::met_in(StepId step) const {
  if (step >= 0 && is_collective(plan.program.step(step).op)) return step;
  StepId last = -1;
  for (const RankMeeting& meeting : meetings) last = std::max(last, meeting.step.load());
  return last;
}

}  // namespace shardlens
