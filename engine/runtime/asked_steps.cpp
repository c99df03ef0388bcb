// Sets marks before and after every step, or after one step in many.
#include "engine/runtime/asked_steps.h"

#include <fmt/format.h>

#include <typeinfo>
#include <utility>

#include "engine/base/error.h"

namespace shardlens {
namespace {

// How many untraced calls there are for one mark, so that one of the calls that are waited for has a mark.
constexpr size_t kUntracedPerMark = AskedSteps::kMost - AskedSteps::kStill;

size_t begin_slot(StepId id) {
  return 2 * static_cast<size_t>(id);
}
size_t end_slot(StepId id) {
  return begin_slot(id) + 1;
}

}  // namespace

AskedSteps::AskedSteps(const Program& program, WorkBehind& behind) : behind_(behind) {
  behind.provide_marks(2 * program.steps.size());
}

void AskedSteps::keep_time(StepId at, bool traced) {
  if (at == 0) has_clock_ = false;
  if (traced && !std::exchange(has_clock_, true)) behind_.set_clock();
}

void AskedSteps::ask(std::span<const Step> steps, bool traced, const std::function<StepEvent()>& run) {
  const Step& step = steps.front();
  const StepId last = steps.back().id;
  const bool meets = is_collective(step.op);
  if (meets) behind_.begin_collective();
  if (traced)
    behind_.mark(begin_slot(step.id), meets && step.overlapped ? WorkOrder::Collectives : WorkOrder::Steps);
  const StepEvent event = run();
  const bool marked = traced || ++since_mark_ == kUntracedPerMark;
  if (marked) {
    behind_.mark(end_slot(last), meets ? WorkOrder::Collectives : WorkOrder::Steps);
    since_mark_ = 0;
  }
  if (meets && !step.overlapped) behind_.join_collectives();
  asked_.push_back({step.id, last, event, marked});
}

// A device that has failed reports the failure for every mark, also for marks that it reached before.
template <class Wait>
auto AskedSteps::wait_for(const Wait& wait) const {
  try {
    return wait();
  } catch (const Error& error) {
    const bool of_the_device = typeid(error) == typeid(Error) && error.kind() == ErrorKind::Run;
    if (!of_the_device || asked_.front().first == asked_.back().last) throw;
    throw run_error(
        fmt::format("{}; it was in one of the steps {} to {}, which were asked for and not yet "
                    "known to be done",
                    error.what(), asked_.front().first, asked_.back().last));
  }
}

void AskedSteps::look_up(size_t left, StepId& at, const std::function<void(StepId, StepEvent)>& done) {
  while (asked_.size() > left) {
    const StepId id = asked_.front().last;
    StepEvent event = asked_.front().event;
    at = id;
    event.begin_seconds = wait_for([&, step = id] { return began_seconds(step); });
    event.end_seconds = wait_for([&, step = id] { return behind_.marked_seconds(end_slot(step)); });
    done(id, event);
    asked_.pop_front();
  }
}

// With left == 0, waits for all by a new mark after them, else by a mark among them.
void AskedSteps::look_up_untraced(size_t left, StepId& at) {
  if (left == 0 && !asked_.empty()) {
    at = asked_.back().last;
    behind_.join_collectives();
    behind_.mark(end_slot(at), WorkOrder::Steps);
    wait_for([&] { behind_.wait_for_mark(end_slot(at)); });
    asked_.clear();
  }
  while (asked_.size() > left) {
    at = asked_.front().last;
    if (asked_.front().marked) wait_for([&] { behind_.wait_for_mark(end_slot(at)); });
    asked_.pop_front();
  }
}

double AskedSteps::began_seconds(StepId step) const {
  return behind_.marked_seconds(begin_slot(step));
}

}  // namespace shardlens
