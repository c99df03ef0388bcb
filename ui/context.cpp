// What panels ask for, and the one selection that Stage, Inspector and Timeline share.
#include "ui/context.h"

#include "ui/frame/notice.h"
#include "ui/panels/recordings/replay_parts.h"

namespace shardlens::ui {

void Context::send(Command command) const {
  outbox.push_back(std::move(command));
}

void Context::send(TrainCommand command) const {
  train_outbox.push_back(std::move(command));
}

void Context::send(BreakCommand command) const {
  break_outbox.push_back(std::move(command));
}

void Context::send(ScalingCommand command) const {
  scaling_outbox.push_back(std::move(command));
}

void Context::send(ComparisonCommand command) const {
  comparison_outbox.push_back(std::move(command));
}

void Context::send(DiffCommand command) const {
  diff_outbox.push_back(std::move(command));
}

void Context::send(ReplayCommand command) const {
  replay_outbox.push_back(std::move(command));
}

void Context::send(HistoryCommand command) const {
  history_outbox.push_back(std::move(command));
}

void Context::want(const Settings& settings) const {
  if (replay.is_open()) return say_recording_stays(*this);
  if (settings == wanted() && !has_stopped(snapshot))
    return;  // a click on what is chosen already runs nothing
  ask_for(settings);
}

void Context::undo() const {
  ask_for(view.changes.undo());
}

void Context::redo() const {
  ask_for(view.changes.redo());
}

void Context::ask_for(const Settings& settings) const {
  view.wanted.sent(snapshot, settings);
  send(command::SetSettings{settings});
}

void select_step(ViewState& view, const Program& program, StepId step) {
  if (step < 0 || step >= static_cast<StepId>(program.steps.size())) {
    view.selected_step = -1;
    view.selected_tensor = kNoTensor;
  } else {
    const Step& selected = program.step(step);
    view.selected_step = step;
    view.selected_tensor = selected.outputs.empty() ? kNoTensor : selected.outputs.front();
  }
  view.selected_rank = -1;
}

}  // namespace shardlens::ui
