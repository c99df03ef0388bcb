// Selects a step or a rank, and keeps the selection when another plan is shown.
#include "ui/view_state.h"

#include <algorithm>

#include "engine/runtime/snapshot.h"

namespace shardlens::ui {
namespace {

bool is_shown(const ViewState& view, const Program& program) {
  return !view.shown || &view.shown->program == &program;
}

template <class List>
bool has(const List& list, int32_t id) {
  return id >= 0 && static_cast<size_t>(id) < list.size();
}

SelectedNames names_of(const Program& program, SelectionIn selection) {
  SelectedNames names;
  if (has(program.steps, selection.step)) {
    const Step& step = program.step(selection.step);
    names = {step.id, step.name, step.phase, step.layer, {}};
  }
  if (has(program.tensors, selection.tensor)) names.tensor = program.tensor(selection.tensor).name;
  return names;
}

/// The step and, if the step has it, the tensor; else its first output.
SelectionIn found_in(const Program& program, const SelectedNames& names) {
  const auto is_it = [&](const Step& step) {
    return step.name == names.step && step.phase == names.phase && step.layer == names.layer;
  };
  SelectionIn found;
  if (names.step.empty()) return found;
  if (has(program.steps, names.id) && is_it(program.step(names.id))) {
    found.step = names.id;
  } else {
    const auto like = std::find_if(program.steps.begin(), program.steps.end(), is_it);
    if (like == program.steps.end()) return found;
    found.step = like->id;
  }
  const Step& step = program.step(found.step);
  if (!step.outputs.empty()) found.tensor = step.outputs.front();
  for (const auto* ids : {&step.inputs, &step.outputs})
    for (const TensorId id : *ids)
      if (program.tensor(id).name == names.tensor) found.tensor = id;
  return found;
}

/// The present selection in words; those of a plan that was never shown, if that was clicked last.
SelectedNames present_names(const ViewState& view) {
  if (view.selected_elsewhere) return *view.selected_elsewhere;
  if (!view.shown) return {};
  return names_of(view.shown->program, {view.selected_step, view.selected_tensor});
}

void set(ViewState& view, SelectionIn selection) {
  view.selected_step = selection.step;
  view.selected_tensor = selection.tensor;
}

}  // namespace

float lecture_scale_at(float window_width, float window_height) {
  return std::min(kLectureScale * std::clamp(window_height / 900, 0.8f, 1.0f),
                  std::max(1.0f, window_width / 1000));
}

SelectionIn selection_in(const ViewState& view, const Program& program) {
  if (is_shown(view, program)) return {view.selected_step, view.selected_tensor};
  return found_in(program, present_names(view));
}

void set_selection(ViewState& view, const Program& program, SelectionIn wanted) {
  view.selected_elsewhere.reset();
  if (is_shown(view, program)) return set(view, wanted);
  view.selected_elsewhere = names_of(program, wanted);
  set(view, found_in(view.shown->program, *view.selected_elsewhere));
}

void show_plan(ViewState& view, const std::shared_ptr<const Plan>& plan) {
  if (plan != view.shown) {
    const SelectedNames names = present_names(view);
    view.shown = plan;
    set(view, plan ? found_in(plan->program, names) : SelectionIn{});
    if (view.selected_step >= 0 || !plan) view.selected_elsewhere.reset();
    view.selected_rank = -1;
  }
  if (!plan || !has(plan->program.steps, view.selected_step)) view.selected_step = -1;
  if (!plan || !has(plan->program.tensors, view.selected_tensor)) view.selected_tensor = kNoTensor;
}

void select_step(ViewState& view, const Program& program, StepId step) {
  SelectionIn wanted;
  if (has(program.steps, step)) {
    const Step& selected = program.step(step);
    wanted = {step, selected.outputs.empty() ? kNoTensor : selected.outputs.front()};
  }
  set_selection(view, program, wanted);
  view.selected_rank = -1;
}

void select_nothing(ViewState& view) {
  view.selected_elsewhere.reset();
  set(view, {});
  view.selected_rank = -1;
  view.open_section = kWholeModel;
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
