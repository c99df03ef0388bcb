// Finds the part of the model to which each step belongs.
#include "ui/plan/sections.h"

#include <algorithm>

#include <fmt/format.h>

#include "ui/plan/cache.h"

namespace shardlens::ui {
namespace {

/// The part for a step that belongs to no layer.
enum class Place { Embedding, Head, Replicas, Optimizer };

Place place_of(const Step& step, bool layers_passed) {
  if (step.phase == Phase::Update) return Place::Optimizer;
  if (step.axis == Axis::Dp) return Place::Replicas;
  if (step.part == Part::Loss) return Place::Head;
  // In the forward pass the embedding comes before the layers, in the backward pass after them.
  const bool head = step.phase == Phase::Forward ? layers_passed : !layers_passed;
  return head ? Place::Head : Place::Embedding;
}

}  // namespace

Sections make_sections(const Program& program) {
  Sections sections;
  sections.producers.assign(program.tensors.size(), -1);
  for (const Step& step : program.steps) {
    for (const TensorId out : step.outputs) sections.producers[static_cast<size_t>(out)] = step.id;
  }
  if (!is_whole_model(program)) {
    Section all{
        fmt::format("layer {}", program.settings.layer), static_cast<int>(program.settings.layer), {}};
    for (const Step& step : program.steps) all.steps.push_back(step.id);
    sections.of_step.assign(program.steps.size(), 0);
    sections.list.push_back(std::move(all));
    return sections;
  }
  const int layers = static_cast<int>(program.settings.model.layers);
  sections.list.push_back({"embedding", -1, {}});
  for (int layer = 0; layer < layers; ++layer)
    sections.list.push_back({fmt::format("layer {}", layer), layer, {}});
  sections.list.push_back({"output and loss", -1, {}});
  const int head = layers + 1;
  int replicas = -1, optimizer = -1;
  const auto added = [&sections](int& index, const char* title) {
    if (index < 0) {
      index = static_cast<int>(sections.list.size());
      sections.list.push_back({title, -1, {}});
    }
    return index;
  };
  Phase phase = Phase::Forward;
  bool layers_passed = false;
  for (const Step& step : program.steps) {
    if (step.phase != phase) layers_passed = false;
    phase = step.phase;
    int section = step.layer + 1;
    if (step.layer >= 0) {
      layers_passed = true;
    } else {
      switch (place_of(step, layers_passed)) {
        case Place::Embedding:
          section = 0;
          break;
        case Place::Head:
          section = head;
          break;
        case Place::Replicas:
          section = added(replicas, "sum over replicas");
          break;
        case Place::Optimizer:
          section = added(optimizer, "optimizer");
          break;
      }
    }
    sections.of_step.push_back(section);
    sections.list[static_cast<size_t>(section)].steps.push_back(step.id);
  }
  return sections;
}

const Sections& sections_of(const std::shared_ptr<const Plan>& plan) {
  static Cache<std::shared_ptr<const Plan>, Sections, kPlansAtOnce> known;
  return known.of(plan, [&] { return make_sections(plan->program); });
}

void open_part_of_selection(ViewState& view) {
  if (!view.shown || !is_whole_model(view.shown->program) || view.selected_step < 0) return;
  view.open_section = sections_of(view.shown).of_step[static_cast<size_t>(view.selected_step)];
}

std::vector<TensorId> tensors_on_screen(const std::shared_ptr<const Plan>& plan, const ViewState& view) {
  const Program& program = plan->program;
  std::vector<TensorId> tensors;
  const auto take = [&](StepId id) {
    if (id < 0 || static_cast<size_t>(id) >= program.steps.size()) return;
    const Step& step = program.step(id);
    tensors.insert(tensors.end(), step.inputs.begin(), step.inputs.end());
    tensors.insert(tensors.end(), step.outputs.begin(), step.outputs.end());
  };
  const Sections& sections = sections_of(plan);
  if (!is_whole_model(program)) {
    for (const Step& step : program.steps) take(step.id);
  } else if (view.open_section >= 0 && static_cast<size_t>(view.open_section) < sections.list.size()) {
    for (const StepId id : sections.list[static_cast<size_t>(view.open_section)].steps) take(id);
  } else {
    for (const Step& step : program.steps)
      if (step.op == Op::CrossEntropy) take(step.id);
  }
  take(view.selected_step);
  std::sort(tensors.begin(), tensors.end());
  tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
  return tensors;
}

}  // namespace shardlens::ui
