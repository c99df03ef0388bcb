// Moves the selection and sends the engine after it.
#include "ui/commands/walk.h"

#include <algorithm>

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

}  // namespace

bool can_walk(const Context& context) {
  const Program* program = program_of(context);
  return program != nullptr && !program->steps.empty() && !context.snapshot.stale();
}

void walk_to(const Context& context, StepId step) {
  if (!can_walk(context)) return;
  const Program& program = *program_of(context);
  const StepId target = std::clamp(step, 0, last_step(program));
  select_step(context.view, program, target);
  context.view.scroll_to_selection = true;
  context.send(command::Seek{static_cast<size_t>(target) + 1});
}

void walk_forward(const Context& context) {
  walk_to(context, context.view.selected_step + 1);
}

void walk_back(const Context& context) {
  walk_to(context, context.view.selected_step - 1);
}

void walk_to_next_collective(const Context& context) {
  if (!can_walk(context)) return;
  const Program& program = *program_of(context);
  StepId step = context.view.selected_step + 1;
  while (step < last_step(program) && !is_collective(program.step(step).op)) ++step;
  walk_to(context, step);
}

void walk_to_previous_collective(const Context& context) {
  if (!can_walk(context)) return;
  const Program& program = *program_of(context);
  StepId step = std::min(context.view.selected_step, last_step(program) + 1) - 1;
  while (step > 0 && !is_collective(program.step(step).op)) --step;
  walk_to(context, step);
}

void walk_to_first(const Context& context) {
  walk_to(context, 0);
}

void walk_to_last(const Context& context) {
  if (can_walk(context)) walk_to(context, last_step(*program_of(context)));
}

void Player::advance(const Context& context, double delta_seconds) {
  ViewState& view = context.view;
  if (!view.playing || !can_walk(context)) {
    still_seconds_ = 0;
    return;
  }
  const Program& program = *program_of(context);
  if (view.selected_step >= last_step(program)) {
    view.playing = false;
    return;
  }
  still_seconds_ += delta_seconds;
  const bool at_collective = view.selected_step >= 0 && is_collective(program.step(view.selected_step).op);
  if (still_seconds_ < (at_collective ? kStillAtCollectiveSeconds : kStillSeconds)) return;
  still_seconds_ = 0;
  walk_forward(context);
}

}  // namespace shardlens::ui
