// Sets a mark behind every call, or behind one call in many, and looks marks up in bursts.
#include "engine/runtime/asked_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <typeinfo>
#include <utility>

#include "engine/base/error.h"

namespace shardlens {
namespace {

// How many untraced calls there are for one mark, so that one of the calls that are waited for has a mark.
constexpr size_t kUntracedPerMark = AskedSteps::kMost - AskedSteps::kStill;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

size_t begin_slot(StepId id) {
  return 2 * static_cast<size_t>(id);
}
size_t end_slot(StepId id) {
  return begin_slot(id) + 1;
}

// A device that has failed reports the failure for every mark, also for marks that it reached before.
bool is_of_the_device(const Error& error) {
  return typeid(error) == typeid(Error) && error.kind() == ErrorKind::Run;
}

}  // namespace

AskedSteps::AskedSteps(const Program& program, WorkBehind& behind)
    : behind_(behind), begins_(program.steps.size()), seconds_(2 * program.steps.size()) {
  behind.provide_marks(seconds_.size());
  for (std::atomic<double>& seconds : seconds_) seconds = kUnknown;
}

void AskedSteps::keep_time(StepId at, bool traced) {
  if (at == 0) has_clock_ = false;
  if (!traced || std::exchange(has_clock_, true)) return;
  behind_.set_clock();
  break_off();
  newest_beside_ = -1;
}

void AskedSteps::ask(std::span<const Step> steps, bool traced, const std::function<StepEvent()>& run) {
  const Step& step = steps.front();
  const StepId last = steps.back().id;
  const bool meets = is_collective(step.op);
  const bool beside = meets && step.overlapped;
  if (meets) {
    behind_.begin_collective(beside && joined_);
    joined_ = !beside;
  }
  if (traced) begins_[static_cast<size_t>(step.id)] = begin_of(step);
  const StepEvent event = run();
  const bool marked = traced || ++since_mark_ == kUntracedPerMark;
  if (marked) {
    mark(end_slot(last), meets ? WorkOrder::Collectives : WorkOrder::Steps);
    since_mark_ = 0;
  }
  if (meets && !beside) behind_.join_collectives();
  const auto end = static_cast<int32_t>(end_slot(last));
  if (!traced) {
    break_off();
  } else if (beside) {
    newest_beside_ = end;
  } else {
    boundary_ = {end, -1};
    if (meets) newest_beside_ = -1;  // it came before, in the collectives' order
  }
  asked_.push_back({step.id, last, event, marked, meets});
}

// An overlapped collective begins in its own order, after the steps and collectives before it.
AskedSteps::Boundary AskedSteps::begin_of(const Step& step) {
  const auto slot = static_cast<int32_t>(begin_slot(step.id));
  if (is_collective(step.op) && step.overlapped) {
    mark(begin_slot(step.id), WorkOrder::Collectives);
    return {slot, -1};
  }
  if (boundary_.last < 0) {
    mark(begin_slot(step.id), WorkOrder::Steps);
    boundary_ = {slot, -1};
  }
  return boundary_;
}

void AskedSteps::join_collectives() {
  behind_.join_collectives();
  joined_ = true;
  const int32_t joined = std::exchange(newest_beside_, -1);
  if (joined >= 0) boundary_.joined = joined;
}

void AskedSteps::mark(size_t slot, WorkOrder order) {
  seconds_[slot] = kUnknown;
  behind_.mark(slot, order);
}

template <class Wait>
void AskedSteps::wait_for(const Wait& wait) const {
  try {
    wait();
  } catch (const Error& error) {
    if (!is_of_the_device(error) || asked_.front().first == asked_.back().last) throw;
    throw run_error(
        fmt::format("{}; it was in one of the steps {} to {}, which were asked for and not yet "
                    "known to be done",
                    error.what(), asked_.front().first, asked_.back().last));
  }
}

// Waits until the first `count` calls are done. If the device failed, `at` becomes the first step whose mark
// says so.
void AskedSteps::wait_for_first(size_t count, StepId& at) {
  const auto wait = [&](size_t call) {
    at = asked_[call].last;
    wait_for([&] { behind_.wait_for_mark(end_slot(at)); });
  };
  for (size_t call = 0; call < count; ++call) {
    if (call + 1 < count && !asked_[call].meets) continue;
    try {
      wait(call);
    } catch (const Error& error) {
      if (is_of_the_device(error))
        for (size_t earlier = 0; earlier < call; ++earlier) wait(earlier);
      at = asked_[call].last;
      throw;
    }
  }
}

void AskedSteps::look_up(size_t left, StepId& at, const Done& done) {
  if (asked_.size() > left) wait_for_first(asked_.size() - left, at);
  while (asked_.size() > left) {
    const Asked& oldest = asked_.front();
    at = oldest.last;
    StepEvent event = oldest.event;
    wait_for([&] {
      event.begin_seconds = began_seconds(oldest.first);
      event.end_seconds = seconds_of(static_cast<int32_t>(end_slot(oldest.last)));
    });
    done(oldest.first, oldest.last, event);
    asked_.pop_front();
  }
  if (asked_.empty()) break_off();
}

// With left == 0, waits for all by a new mark after them, else by a mark among them.
void AskedSteps::look_up_untraced(size_t left, StepId& at) {
  if (left == 0 && !asked_.empty()) {
    at = asked_.back().last;
    behind_.join_collectives();
    mark(end_slot(at), WorkOrder::Steps);
    wait_for([&] { behind_.wait_for_mark(end_slot(at)); });
    asked_.clear();
  }
  while (asked_.size() > left) {
    at = asked_.front().last;
    if (asked_.front().marked) wait_for([&] { behind_.wait_for_mark(end_slot(at)); });
    asked_.pop_front();
  }
}

double AskedSteps::began_seconds(StepId step) {
  const Boundary begin = begins_[static_cast<size_t>(step)];
  return std::max(seconds_of(begin.last), seconds_of(begin.joined));
}

// The ranks of a collective want each other's times: the first one asks the device.
double AskedSteps::seconds_of(int32_t slot) {
  if (slot < 0) return -std::numeric_limits<double>::infinity();
  std::atomic<double>& known = seconds_[static_cast<size_t>(slot)];
  double seconds = known;
  if (!std::isnan(seconds)) return seconds;
  seconds = behind_.marked_seconds(static_cast<size_t>(slot));
  if (std::isfinite(seconds)) known = seconds;
  return seconds;
}

}  // namespace shardlens
