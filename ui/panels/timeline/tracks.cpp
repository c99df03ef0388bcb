// Events, blocks and hits of the timeline: see tracks.h.
#include "ui/panels/timeline/tracks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/cost/pass_time.h"
#include "ui/context.h"
#include "ui/panels/faults/faults.h"
#include "ui/plan/cache.h"
#include "ui/plan/shown_plan.h"

namespace shardlens::ui {

namespace {

constexpr double kRoomForFault = 2;          // the axis is so many times as long, to have room for words
constexpr double kLeastEndedSeconds = 1e-4;  // of a run that ended before a step was done

/// The estimated times of the plan's steps.
std::shared_ptr<const Events> estimates_of(const std::shared_ptr<const Plan>& plan) {
  static Cache<std::shared_ptr<const Plan>, std::shared_ptr<const Events>> known;
  return known.of(plan,
                  [&] { return std::make_shared<Events>(predicted_events(plan->program, plan->cost)); });
}

}  // namespace

Tracks tracks_of(const Snapshot& snapshot) {
  Tracks tracks;
  const std::shared_ptr<const Result> result = shown_result(snapshot);
  tracks.plan = shared_shown_plan(snapshot);
  if (!tracks.plan) return tracks;
  const RunFailure* const failure = shown_failure(snapshot);
  const bool ended = failure != nullptr && result && result->plan == snapshot.plan;
  if (ended) tracks.failure = *failure;
  tracks.measured = result && (result->timed || (ended && !result->events.empty()));
  tracks.replayed = tracks.measured && result->replayed;
  tracks.clock_step = tracks.measured ? result->clock_step : 0;
  const bool has_own = result && !result->not_timed.empty();  // an estimate would be taken for them
  if (tracks.measured || has_own) {
    tracks.events = {result, &result->events};  // shared, not copied
  } else {
    tracks.events = estimates_of(tracks.plan);
  }
  for (const std::vector<StepEvent>& events : tracks.ranks()) {
    if (!events.empty()) tracks.seconds = std::max(tracks.seconds, events.back().end_seconds);
  }
  if (!ended) return tracks;
  double begin = tracks.seconds;
  for (const std::vector<StepEvent>& events : tracks.ranks())
    if (!events.empty()) begin = std::min(begin, events.front().begin_seconds);
  tracks.begin_seconds = begin;
  tracks.seconds = begin + std::max(tracks.seconds - begin, kLeastEndedSeconds) * kRoomForFault;
  return tracks;
}

std::vector<TrackBlock> blocks_in(const Program& program, const std::vector<StepEvent>& events, Stretch shown,
                                  double pixel_seconds) {
  std::vector<TrackBlock> blocks;
  bool open = false;  // the last block joins narrow steps and may take another
  for (size_t step = 0; step < events.size(); ++step) {
    const StepEvent& event = events[step];
    const bool outside = event.end_seconds < shown.begin || event.begin_seconds > shown.end;
    if (outside || is_collective(program.steps[step].op)) {
      open = false;
      continue;
    }
    const bool narrow = event.seconds() < pixel_seconds;
    if (narrow && open && event.begin_seconds - blocks.back().end_seconds < pixel_seconds) {
      blocks.back().last = static_cast<StepId>(step);
      blocks.back().end_seconds = event.end_seconds;
      continue;
    }
    blocks.push_back(
        {static_cast<StepId>(step), static_cast<StepId>(step), event.begin_seconds, event.end_seconds});
    open = narrow;
  }
  return blocks;
}

std::vector<std::string> names_of(const Program& program, const Step& step) {
  if (is_collective(step.op)) return {to_string(step.op)};
  const std::string symbol = step.outputs.empty() ? "" : program.tensor(step.outputs[0]).symbol;
  std::vector<std::string> names{step.equation};
  if (symbol.empty()) {
    names.push_back(step.name);
  } else {
    names.push_back(symbol + "  " + step.name);
    names.push_back(symbol);
  }
  std::erase(names, "");
  return names;
}

std::string common_name(const std::vector<std::string>& names, const std::vector<float>& rooms,
                        const std::function<float(const std::string&)>& width) {
  constexpr float kNone = std::numeric_limits<float>::max();
  float least = kNone, narrowest = kNone;
  for (const std::string& name : names) least = std::min(least, width(name));
  for (const float room : rooms)
    if (room >= least) narrowest = std::min(narrowest, room);
  if (narrowest == kNone) return {};
  return *std::find_if(names.begin(), names.end(),
                       [&](const std::string& name) { return width(name) <= narrowest; });
}

StepId step_at(const Program& program, const std::vector<StepEvent>& events, Lane lane, double at,
               double reach_seconds) {
  StepId nearest = -1;
  double nearest_distance = reach_seconds;
  for (size_t step = 0; step < events.size(); ++step) {
    if (lane_of(program.steps[step]) != lane) continue;
    const StepEvent& event = events[step];
    const double distance = std::max({event.begin_seconds - at, at - event.end_seconds, 0.0});
    // A step that takes no time is at the border between its neighbours: choose the longer one.
    if (distance < nearest_distance || (distance == 0 && nearest >= 0 && nearest_distance == 0 &&
                                        event.seconds() > events[static_cast<size_t>(nearest)].seconds())) {
      nearest = static_cast<StepId>(step);
      nearest_distance = distance;
    }
  }
  return nearest;
}

std::optional<Stretch> gap_at(const Program& program, const std::vector<StepEvent>& events, double at) {
  Stretch gap{-1, -1};
  for (size_t step = 0; step < events.size(); ++step) {
    if (lane_of(program.steps[step]) != Lane::Own) continue;
    const StepEvent& event = events[step];
    if (event.begin_seconds <= at && at <= event.end_seconds) return std::nullopt;
    if (event.end_seconds < at) gap.begin = std::max(gap.begin, event.end_seconds);
    if (event.begin_seconds > at)
      gap.end = gap.end < 0 ? event.begin_seconds : std::min(gap.end, event.begin_seconds);
  }
  if (gap.begin < 0 || gap.end < 0) return std::nullopt;  // before the first or after the last
  return gap;
}

}  // namespace shardlens::ui
