// Keeps the selection in a new plan by the names of the steps.
#include "ui/follow/selection_follower.h"

#include <algorithm>
#include <vector>

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

/// Returns the part of `plan` with the title of the part `open` of `before`, so that it stays open.
int section_like(const std::shared_ptr<const Plan>& plan, const std::shared_ptr<const Plan>& before,
                 int open) {
  if (!before || open == kWholeModel) return kWholeModel;
  if (!is_whole_model(plan->program) || !is_whole_model(before->program)) return kWholeModel;
  const std::vector<Section>&old = sections_of(before).list, &now = sections_of(plan).list;
  if (open < 0 || static_cast<size_t>(open) >= old.size()) return kWholeModel;
  const auto like = std::find_if(now.begin(), now.end(), [&](const Section& section) {
    return section.title == old[static_cast<size_t>(open)].title;
  });
  return like == now.end() ? kWholeModel : static_cast<int>(like - now.begin());
}

}  // namespace

void SelectionFollower::follow(const std::shared_ptr<const Plan>& plan, ViewState& view) {
  const std::shared_ptr<const Plan> before = view.shown;
  const int open = view.open_section;
  show_plan(view, plan);
  if (plan == before) {
    if (open != kWholeModel) open_part_of_selection(view);
    return;
  }
  view.open_section = plan ? section_like(plan, before, open) : kWholeModel;
  if (!plan) return;
  if (view.selected_step < 0) select_step(view, plan->program, first_look(plan->program));
  bring_into_view();
  auto& timeline = view.of<TimelineView>();
  timeline.begin_seconds = timeline.end_seconds = 0;
}

void SelectionFollower::follow_to_stage(const ViewState& view) {
  if (view.tab == Tab::Stage) {
    const std::pair place(view.shown.get(), view.selected_step);
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
