// Keeps the selection in a new plan by the names of the steps.
#include "ui/follow/selection_follower.h"

#include <string>

#include "ui/panels/timeline/timeline_view.h"
#include "ui/plan/sections.h"

namespace shardlens::ui {
namespace {

/// Returns the step selected at first: the product whose Partial result the first collective sums. It shows
/// the idea of tensor parallelism best.
StepId first_look(const Program& program) {
  for (const Step& step : program.steps) {
    if (!is_collective(step.op)) continue;
    const StepId producer = step.inputs.empty() ? -1 : producer_of(program, step.inputs.front());
    return producer >= 0 ? producer : step.id;
  }
  return program.steps.empty() ? -1 : 0;
}

StepId step_like(const Program& program, const Step& wanted) {
  for (const Step& step : program.steps) {
    if (step.name == wanted.name && step.phase == wanted.phase && step.layer == wanted.layer) return step.id;
  }
  return -1;
}

/// Selects the tensor called `name` if the selected step has it, in place of the step's first output.
void keep_tensor(ViewState& view, const Program& program, const std::string& name) {
  const Step& step = program.step(view.selected_step);
  for (const auto* ids : {&step.inputs, &step.outputs})
    for (const TensorId id : *ids)
      if (program.tensor(id).name == name) view.selected_tensor = id;
}

/// Returns the section with this title, so that an open part stays open in another Program.
int section_like(const Sections& sections, const std::string& title) {
  for (size_t i = 0; i < sections.list.size(); ++i) {
    if (sections.list[i].title == title) return static_cast<int>(i);
  }
  return kWholeModel;
}

/// If a part is open and the selected step is in another part, opens that part.
void open_part_of_selection(const std::shared_ptr<const Plan>& plan, ViewState& view) {
  if (!plan || view.open_section == kWholeModel || view.selected_step < 0) return;
  view.open_section = sections_of(plan).of_step[static_cast<size_t>(view.selected_step)];
}

}  // namespace

void SelectionFollower::follow(const std::shared_ptr<const Plan>& plan, ViewState& view) {
  if (plan == plan_) return open_part_of_selection(plan, view);
  StepId step = -1;
  std::string tensor;
  if (plan && plan_ && view.selected_step >= 0) {
    step = step_like(plan->program, plan_->program.step(view.selected_step));
    if (view.selected_tensor != kNoTensor) tensor = plan_->program.tensor(view.selected_tensor).name;
  }
  std::string open;
  if (plan_ && is_whole_model(plan_->program) && view.open_section != kWholeModel)
    open = sections_of(plan_).list[static_cast<size_t>(view.open_section)].title;
  view.open_section =
      plan && is_whole_model(plan->program) ? section_like(sections_of(plan), open) : kWholeModel;
  plan_ = plan;
  if (!plan) {
    view.selected_step = -1;
    view.selected_tensor = kNoTensor;
    return;
  }
  select_step(view, plan->program, step >= 0 ? step : first_look(plan->program));
  if (step >= 0) keep_tensor(view, plan->program, tensor);
  bring_into_view();
  auto& timeline = view.of<TimelineView>();
  timeline.begin_seconds = timeline.end_seconds = 0;
}

void SelectionFollower::follow_to_stage(const ViewState& view) {
  if (view.tab == Tab::Stage) {
    const std::pair place(plan_.get(), view.selected_step);
    if (std::exchange(left_stage_, false) && place != stage_place_) bring_into_view();
    stage_place_ = place;
  } else {
    left_stage_ = true;
  }
}

void SelectionFollower::begin_panels(ViewState& view) {
  if (frames_ == 0) return;
  --frames_;
  view.scroll_to_selection = true;
}

}  // namespace shardlens::ui
