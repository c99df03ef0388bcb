// Makes snapshots of a planted mistake's run.
#include "ui/follow/broken_run.h"

#include "ui/panels/break_it/break_view.h"
#include "ui/panels/inspector/inspector.h"
#include "ui/plan/sections.h"

namespace shardlens::ui {

std::shared_ptr<const Snapshot> BrokenRun::shown(const BreakSnapshot& breaks,
                                                 const std::shared_ptr<const Snapshot>& own,
                                                 ViewState& view) {
  auto& state = view.of<BreakView>();
  if (view.tab == Tab::BreakIt) state.left = false;
  if (!breaks.planted || !breaks.report || state.left) return nullptr;
  const std::shared_ptr<const BreakProbe> probe = chosen_probe(*breaks.report, state.probe);
  if (!probe || !probe->pass.sound) return nullptr;
  const std::shared_ptr<const Result>& result = result_of(probe->pass, state.side);
  if (made_ && own == own_ && made_->result == result) return made_;
  auto made = std::make_shared<Snapshot>();
  made->version = own->version;
  made->settings = own->settings;
  made->recording = own->recording;
  made->plan = result->plan;
  made->result = result;
  made->state = RunState::Done;
  made->position = result->plan->program.steps.size();
  own_ = own;
  made_ = std::move(made);
  return made_;
}

void BrokenRun::select_start(const BreakSnapshot& breaks, const Snapshot& shown, ViewState& view) {
  if (!breaks.report || shown.plan != breaks.report->plan || started_ == shown.plan) return;
  const std::shared_ptr<const BreakProbe> probe = chosen_probe(*breaks.report, 0);
  if (!probe || !probe->finds()) return;
  started_ = shown.plan;
  select_tensor(view, shown.plan->program, probe->first_error().tensor);
  open_part_of_selection(view);
}

}  // namespace shardlens::ui
