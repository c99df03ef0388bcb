// Selects a step or a rank.
#include "ui/view_state.h"

namespace shardlens::ui {

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

void show_step(ViewState& view, const Program& program, StepId step, int rank) {
  select_step(view, program, step);
  view.selected_rank = rank;
  view.scroll_to_selection = true;
}

void select_rank_or_all(ViewState& view, int rank) {
  view.selected_rank = view.selected_rank == rank ? -1 : rank;
}

}  // namespace shardlens::ui
