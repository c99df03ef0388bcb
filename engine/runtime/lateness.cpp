// Computes a pass again from its measured times, with one delay left out.
#include "engine/runtime/lateness.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/program/collective_group.h"
#include "engine/program/overlap_waits.h"

namespace shardlens {
namespace {

constexpr double kCounts = 0.01;  // of the time held: a rank that waited less did not wait for it

struct Held {
  int rank = -1;
  StepId step = -1;
};

struct Outcome {
  double pass_seconds = 0;
  std::vector<double> waited_seconds;  // [rank]
};

class Pass {
 public:
  Pass(const Program& program, const std::vector<std::vector<StepEvent>>& events)
      : program_(program), events_(events), behind_lane_(waits_for_overlapped(program)) {
    steps_ = program.steps.size();
    for (const auto& track : events) steps_ = std::min(steps_, track.size());
  }

  // Computes when everything ended and how long each rank waited, without the delay `left_out`.
  Outcome without(const Held& left_out) const {
    Outcome outcome;
    outcome.waited_seconds.assign(events_.size(), 0);
    std::vector<Clock> clocks(events_.size());
    std::vector<double> begins(events_.size()), arrivals(events_.size());
    for (size_t at = 0; at < steps_; ++at) {
      const Step& step = program_.steps[at];
      for (size_t rank = 0; rank < events_.size(); ++rank) {
        const bool is_out = left_out.rank == static_cast<int>(rank) && left_out.step == step.id;
        begins[rank] = begin_of(step, events_[rank][at], clocks[rank], is_out);
        arrivals[rank] = begins[rank] + events_[rank][at].arrival_seconds - events_[rank][at].begin_seconds;
      }
      for (size_t rank = 0; rank < events_.size(); ++rank) {
        const StepEvent& event = events_[rank][at];
        double end = begins[rank] + event.seconds();
        if (is_collective(step.op)) {
          const double met = met_at(step, static_cast<int>(rank), arrivals);
          end = met + event.transfer_seconds();
          outcome.waited_seconds[rank] += met - arrivals[rank];
        }
        (step.overlapped ? clocks[rank].lane : clocks[rank].thread) = {event.end_seconds, end};
        outcome.pass_seconds = std::max(outcome.pass_seconds, end);
      }
    }
    return outcome;
  }

 private:
  // A rank's time: as measured, and as computed again.
  struct Moment {
    double measured = 0, reckoned = 0;
  };
  struct Clock {
    Moment thread, lane;
  };

  // A step begins as long after what it waits for as it did in the measured pass.
  double begin_of(const Step& step, const StepEvent& event, Clock& clock, bool is_out) const {
    const double held = is_out ? 0 : event.held_seconds;
    Moment after = clock.thread;
    if (step.overlapped) {  // the rank's thread was held, then handed the step on
      clock.thread.measured += event.held_seconds;
      clock.thread.reckoned += held;
      after = later(clock.thread, clock.lane);
      return after.reckoned + event.begin_seconds - after.measured;
    }
    if (behind_lane_[static_cast<size_t>(step.id)]) after = later(clock.thread, clock.lane);
    return after.reckoned + event.begin_seconds - after.measured - event.held_seconds + held;
  }

  static Moment later(const Moment& a, const Moment& b) {
    return {std::max(a.measured, b.measured), std::max(a.reckoned, b.reckoned)};
  }

  double met_at(const Step& step, int rank, const std::vector<double>& arrivals) const {
    const auto at = static_cast<size_t>(step.id);
    const double all_arrived = events_[static_cast<size_t>(rank)][at].all_arrived_seconds;
    double measured = 0, reckoned = 0;
    bool complete = true;
    for (const int other : ranks_of_group(program_, step, rank)) {
      const auto r = static_cast<size_t>(other);
      complete = complete && r < events_.size();
      if (r >= events_.size()) continue;
      measured = std::max(measured, events_[r][at].arrival_seconds);
      reckoned = std::max(reckoned, arrivals[r]);
    }
    return complete ? reckoned + all_arrived - measured : std::max(reckoned, all_arrived);
  }

  const Program& program_;
  const std::vector<std::vector<StepEvent>>& events_;
  std::vector<bool> behind_lane_;
  size_t steps_ = 0;
};

}  // namespace

std::vector<Lateness> lateness_of(const Program& program, const std::vector<std::vector<StepEvent>>& events) {
  std::vector<Lateness> late;
  for (size_t rank = 0; rank < events.size(); ++rank)
    for (size_t step = 0; step < events[rank].size(); ++step)
      if (events[rank][step].held_seconds > 0)
        late.push_back(
            {static_cast<int>(rank), static_cast<StepId>(step), events[rank][step].held_seconds, 0, 0, 0});
  if (late.empty()) return late;
  std::stable_sort(late.begin(), late.end(),
                   [](const Lateness& a, const Lateness& b) { return a.step < b.step; });
  const Pass pass(program, events);
  const Outcome was = pass.without({});
  for (Lateness& one : late) {
    const Outcome without = pass.without({one.rank, one.step});
    one.longer_seconds = was.pass_seconds - without.pass_seconds;
    for (size_t rank = 0; rank < events.size(); ++rank) {
      const double more = was.waited_seconds[rank] - without.waited_seconds[rank];
      if (static_cast<int>(rank) == one.rank || more < kCounts * one.held_seconds) continue;
      ++one.waiting_ranks;
      one.waited_seconds += more;
    }
  }
  return late;
}

std::string to_sentence(const Program& program, const Lateness& lateness) {
  const auto ms = [](double seconds) { return fmt::format("{:.1f} ms", seconds * 1e3); };
  const std::string others = lateness.waiting_ranks == 0 ? "no rank waited for it"
                             : lateness.waiting_ranks == 1
                                 ? fmt::format("1 rank waited {} longer", ms(lateness.waited_seconds))
                                 : fmt::format("{} ranks together waited {} longer", lateness.waiting_ranks,
                                               ms(lateness.waited_seconds));
  const std::string pass = lateness.longer_seconds < 5e-5 ? "the pass would have ended no sooner"
                                                          : fmt::format("the pass would have ended {} sooner",
                                                                        ms(lateness.longer_seconds));
  return fmt::format("rank {} was late by {} before {}: {}; without the delay, {}", lateness.rank,
                     ms(lateness.held_seconds), program.step(lateness.step).name, others, pass);
}

}  // namespace shardlens
