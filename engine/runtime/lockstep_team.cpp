#include "engine/runtime/lockstep_team.h"

#include <algorithm>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/program/collective_group.h"
#include "engine/runtime/execute.h"

namespace shardlens {

LockstepTeam::LockstepTeam(std::shared_ptr<const Plan> plan, std::shared_ptr<Team> lender,
                           std::unique_ptr<Seats> seats)
    : Team(std::move(plan), std::move(lender), std::move(seats)), clocks_(ranks_.size()) {}

void LockstepTeam::observe(std::vector<std::shared_ptr<StepObserver>> observers) {
  observers_ = std::move(observers);
}

void LockstepTeam::start(size_t target) {
  target = std::min(target, steps());
  if (target < done_) rewind();
  target_ = target;
}

void LockstepTeam::rewind() {
  next_pass();
  if (plan_->program.settings.update) ++weights_of_;
}

void LockstepTeam::next_pass() {
  if (place_ > 0 && !failure_ &&
      !is_cancelled_) {  // a collective that some ranks have come to is not left behind
    pause();
    wait();
  }
  ++pass_;
  target_ = 0;
  done_ = 0;
  place_ = 0;
  fed_ = 0;
  for (auto& rank : ranks_) rank->trace->reset();
}

void LockstepTeam::run_passes(const PassSource& next) {
  while (std::optional<PassInputs> inputs = next()) {
    next_pass(std::move(*inputs));
    start(steps());
    wait();
  }
}

void LockstepTeam::read_tensor(int rank, TensorId tensor, void* host) const {
  ranks_[static_cast<size_t>(rank)]->memory->fetch(plan_->program.tensor(tensor), host);
}

void LockstepTeam::write_tensor(int rank, TensorId tensor, const void* host) {
  Rank& to = *ranks_[static_cast<size_t>(rank)];
  to.memory->put(plan_->program.tensor(tensor), host);
  to.written = true;
}

BytesByKind LockstepTeam::high_water_bytes(int rank) const {
  return ranks_[static_cast<size_t>(rank)]->high_water_bytes;
}

void LockstepTeam::cancel(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (is_cancelled_) return;
  cancelled_ = why;
  is_cancelled_ = true;
}

void LockstepTeam::throw_cancelled() {
  if (!is_cancelled_) return;
  const std::lock_guard lock(mutex_);
  throw Error(ErrorKind::Cancelled, cancelled_);
}

bool LockstepTeam::wait_for(double seconds) {
  const double end = now_seconds() + seconds;
  do {
    if (failure_) std::rethrow_exception(failure_);
    throw_cancelled();
    if (stands_still()) return true;
    go_on();
  } while (now_seconds() < end);
  return stands_still();
}

bool LockstepTeam::stands_still() const {
  return ready_ == ranks_.size() && done_ >= target_;
}

void LockstepTeam::go_on() {
  if (ready_ < ranks_.size()) {
    on_rank(ready_, -1, [this] { make_memory(*ranks_[ready_], false); });
    ranks_[ready_]->ready = true;
    ++ready_;
    return;
  }
  if (done_ == 0 && fed_ < ranks_.size()) {
    on_rank(fed_, 0, [this] { feed_pass(*ranks_[fed_], pass_, weights_of_); });
    clocks_[fed_] = {};
    ++fed_;
    return;
  }
  if (place_ == 0) begin_step();
  on_rank(place_, turns_[place_].step->id, [this] { take_turn(turns_[place_], place_); });
  if (++place_ == ranks_.size()) end_step();
}

void LockstepTeam::on_rank(size_t place, StepId step, const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    fail(static_cast<int>(place), step, error);
  }
}

void LockstepTeam::fail(int rank, StepId step, const std::exception& error) {
  const auto* const known = dynamic_cast<const Error*>(&error);
  failure_ = std::make_exception_ptr(RunFailed(known == nullptr ? ErrorKind::Run : known->kind(),
                                               failed_message(plan_->program, rank, step, error.what()),
                                               RunFailure{{rank}, step, false}));
  std::rethrow_exception(failure_);
}

void LockstepTeam::begin_step() {
  turns_.assign(ranks_.size(), {});
  for (size_t place = 0; place < ranks_.size(); ++place) {
    Rank& rank = *ranks_[place];
    turns_[place].step = &steps_of(plan_->program, rank.replica)[done_];
    come_to(turns_[place], place);
  }
  lose_late_ranks(turns_);
}

void LockstepTeam::end_step() {
  meet(turns_);
  for (size_t place = 0; place < ranks_.size(); ++place) {
    const Step& step = *turns_[place].step;
    if (traced_) ranks_[place]->trace->publish(done_, turns_[place].event);
    on_rank(place, step.id, [&] {
      for (const TensorId out : step.outputs) show(*ranks_[place], step.id, plan_->program.tensor(out));
    });
  }
  place_ = 0;
  ++done_;
}

/// When the rank comes to the step, by its clocks.
void LockstepTeam::come_to(Turn& turn, size_t place) {
  const Step& step = *turn.step;
  Clock& clock = clocks_[place];
  if (!step.overlapped && behind_lane_[static_cast<size_t>(step.id)])
    clock.steps = std::max(clock.steps, clock.lane);
  const auto& delays = ranks_[place]->delays;
  if (const auto held = delays.find(step.id); held != delays.end())
    clock.steps += turn.event.held_seconds = held->second;
  turn.event.begin_seconds = step.overlapped ? std::max(clock.steps, clock.lane) : clock.steps;
}

/// Ranks that come to a collective later than the first of its group waits.
void LockstepTeam::lose_late_ranks(const std::vector<Turn>& turns) {
  const Program& program = plan_->program;
  const double patience = timeout_seconds(program.settings);
  for (size_t place = 0; place < turns.size(); ++place) {
    const Step& step = *turns[place].step;
    if (!is_collective(step.op)) continue;
    const double since = turns[place].event.begin_seconds;
    RunFailure lost{{}, step.id, true};
    std::vector<Whereabouts> whereabouts;
    for (const int other : ranks_of_group(program, step, static_cast<int>(place))) {
      const double late = turns[static_cast<size_t>(other)].event.begin_seconds - since;
      if (late <= patience) continue;
      lost.ranks.push_back(other);
      Whereabouts where{other, step.id, true, late, 0};
      for (const auto& [before, seconds] : ranks_[static_cast<size_t>(other)]->delays)
        if (before <= step.id) where.step = before, where.held_seconds = seconds;
      whereabouts.push_back(where);
    }
    if (lost.ranks.empty()) continue;
    const std::string message = lost_message(program, lost, patience, whereabouts);
    failure_ = std::make_exception_ptr(RunFailed(ErrorKind::Run, message, std::move(lost)));
    std::rethrow_exception(failure_);
  }
}

void LockstepTeam::take_turn(Turn& turn, size_t place) {
  const Program& program = plan_->program;
  Rank& rank = *ranks_[place];
  const Step& step = *turn.step;
  StepEvent& event = turn.event;
  event.flops = plan_->cost[static_cast<size_t>(rank.index)][static_cast<size_t>(step.id)].flops;
  RankContext context{program,
                      rank.index,
                      rank.replica,
                      *rank.device,
                      *rank.groups.layer,
                      *rank.groups.replicas,
                      *rank.groups.same_slice,
                      rank.memory->arenas(),
                      inputs_.numbers};
  const double begin = now_seconds();
  event.sent_bytes = execute(step, context).sent_bytes;
  turn.worked_seconds = now_seconds() - begin;
  Clock& clock = clocks_[place];
  (step.overlapped ? clock.lane : clock.steps) = event.end_seconds =
      event.begin_seconds + turn.worked_seconds;
  event.high_water_bytes = rank.high_water_bytes = rank.memory->arenas().high_water_bytes();
}

/// The last rank of a group did the work of all: each did its share of it, after the last one had come.
void LockstepTeam::meet(std::vector<Turn>& turns) {
  const Program& program = plan_->program;
  for (size_t place = 0; place < turns.size(); ++place) {
    const Step& step = *turns[place].step;
    if (!is_collective(step.op)) continue;
    const std::vector<int> group = ranks_of_group(program, step, static_cast<int>(place));
    double came = 0, worked = 0;
    for (const int member : group) {
      came = std::max(came, turns[static_cast<size_t>(member)].event.begin_seconds);
      worked += turns[static_cast<size_t>(member)].worked_seconds;
    }
    StepEvent& event = turns[place].event;
    event.arrival_seconds = event.begin_seconds;
    event.all_arrived_seconds = came;
    event.end_seconds = came + worked / static_cast<double>(group.size());
    (step.overlapped ? clocks_[place].lane : clocks_[place].steps) = event.end_seconds;
  }
}

}  // namespace shardlens
