// Moves the selection and sends the engine to the same step.
#include "ui/commands/walk.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "engine/runtime/recordings/replay_snapshot.h"
#include "ui/outbox.h"
#include "ui/panels/recordings/replay_view.h"
#include "ui/panels/timeline/history.h"
#include "ui/panels/timeline/timeline.h"
#include "ui/plan/sections.h"
#include "ui/plan/shown_plan.h"

namespace shardlens::ui {
namespace {

constexpr double kStillSeconds = 0.6;
constexpr double kStillAtCollectiveSeconds = 1.4;

const Program* program_of(const Context& context) {
  return context.snapshot.plan ? &context.snapshot.plan->program : nullptr;
}

StepId last_step(const Program& program) {
  return static_cast<StepId>(program.steps.size()) - 1;
}

/// Returns the steps of the open part of the model, or null if no part is open.
const std::vector<StepId>* open_steps(const Context& context) {
  const ViewState& view = context.view;
  if (view.open_section == kWholeModel || view.selected_step < 0) return nullptr;
  const Sections& sections = sections_of(context.snapshot.plan);
  return &sections.of(view.selected_step).steps;
}

StepId first_open(const Context& context) {
  const std::vector<StepId>* open = open_steps(context);
  return open ? open->front() : 0;
}

StepId last_open(const Context& context) {
  const std::vector<StepId>* open = open_steps(context);
  return open ? open->back() : last_step(*program_of(context));
}

/// Returns the step after `step` (direction 1) or before it (-1) in the open part; `step` itself at its end.
StepId beside(const Context& context, StepId step, int direction) {
  const std::vector<StepId>* open = open_steps(context);
  if (open == nullptr) return std::clamp(step + direction, 0, last_step(*program_of(context)));
  const auto at = std::lower_bound(open->begin(), open->end(), step) - open->begin();
  const auto last = static_cast<std::ptrdiff_t>(open->size()) - 1;
  return (*open)[static_cast<size_t>(std::clamp<std::ptrdiff_t>(at + direction, 0, last))];
}

}  // namespace

bool plays_by_time(const Context& context) {
  return context.replay.is_open() && context.view.of<ReplayView>().speed > 0;
}

void play_or_pause_replay(const Context& context) {
  context.view.playing = false;
  if (context.replay.playing)
    context.send(replay_command::Pause{});
  else
    context.send(replay_command::Play{context.view.of<ReplayView>().speed});
}

bool is_playing(const Context& context) {
  return context.view.playing || context.replay.playing;
}

bool can_walk(const Context& context) {
  const Program* program = program_of(context);
  return program != nullptr && !program->steps.empty() && !shows_stale(context.snapshot);
}

bool stands_at_the_end(const Context& context) {
  return can_walk(context) && context.view.selected_step >= last_open(context);
}

void walk_to(const Context& context, StepId step) {
  if (!can_walk(context)) return;
  const Program& program = *program_of(context);
  const StepId target = std::clamp(step, 0, last_step(program));
  show_step(context.view, program, target);
  if (shows_history(context) && !is_playing(context)) show_in_history(context, target);
  context.send(command::Seek{static_cast<size_t>(target) + 1});
}

void reach_selection(const Context& context) {
  const RunState state = context.snapshot.state;
  const StepId step = context.view.selected_step;
  if (step < 0 || !can_walk(context) || is_playing(context)) return;
  if (state != RunState::Paused && state != RunState::Done) return;  // the run is still on its way
  if (static_cast<size_t>(step) < context.snapshot.position) return;
  context.send(command::Seek{static_cast<size_t>(step) + 1});
}

void walk_forward(const Context& context) {
  if (can_walk(context)) walk_to(context, beside(context, context.view.selected_step, 1));
}

void walk_back(const Context& context) {
  if (can_walk(context)) walk_to(context, beside(context, context.view.selected_step, -1));
}

void walk_to_next_collective(const Context& context) {
  if (!can_walk(context)) return;
  const Program& program = *program_of(context);
  const StepId last = last_open(context);
  StepId step = beside(context, context.view.selected_step, 1);
  while (step < last && !is_collective(program.step(step).op)) step = beside(context, step, 1);
  walk_to(context, step);
}

void walk_to_previous_collective(const Context& context) {
  if (!can_walk(context)) return;
  const Program& program = *program_of(context);
  const StepId first = first_open(context);
  StepId step = beside(context, std::min(context.view.selected_step, last_step(program) + 1), -1);
  while (step > first && !is_collective(program.step(step).op)) step = beside(context, step, -1);
  walk_to(context, step);
}

void walk_to_first(const Context& context) {
  if (can_walk(context)) walk_to(context, first_open(context));
}

void walk_to_last(const Context& context) {
  if (can_walk(context)) walk_to(context, last_open(context));
}

const char* walk_speed_text(float speed) {
  constexpr const char* kTexts[] = {"\u00BC \u00D7", "\u00BD \u00D7", "1 \u00D7",
                                    "2 \u00D7",      "4 \u00D7",      "8 \u00D7"};
  static_assert(std::size(kTexts) == std::size(kWalkSpeeds));
  return kTexts[std::find(std::begin(kWalkSpeeds), std::end(kWalkSpeeds) - 1, speed) -
                std::begin(kWalkSpeeds)];
}

void change_walk_speed(ViewState& view, int by) {
  const auto at = std::find(std::begin(kWalkSpeeds), std::end(kWalkSpeeds) - 1, view.walk_speed) -
                  std::begin(kWalkSpeeds);
  view.walk_speed = kWalkSpeeds[std::clamp<std::ptrdiff_t>(
      at + by, 0, static_cast<std::ptrdiff_t>(std::size(kWalkSpeeds)) - 1)];
}

double still_seconds(const Step& step) {
  return is_collective(step.op) ? kStillAtCollectiveSeconds : kStillSeconds;
}

void Player::advance(const Context& context, double delta_seconds) {
  ViewState& view = context.view;
  if (!view.playing || !can_walk(context)) {
    still_seconds_ = 0;
    return;
  }
  still_seconds_ += delta_seconds * static_cast<double>(view.walk_speed);
  if (stands_at_the_end(context)) {
    const ReplaySnapshot& replay = context.replay;
    if (!replay.is_open() || replay.pass + 1 >= replay.recording->passes) {
      view.playing = false;
    } else if (still_seconds_ >= kStillSeconds) {  // on into the next pass
      still_seconds_ = 0;
      context.send(replay_command::ShowPass{replay.pass + 1});
      walk_to_first(context);
    }
    return;
  }
  const StepId step = view.selected_step;
  if (still_seconds_ < (step >= 0 ? still_seconds(program_of(context)->step(step)) : kStillSeconds)) return;
  still_seconds_ = 0;
  walk_forward(context);
}

}  // namespace shardlens::ui
