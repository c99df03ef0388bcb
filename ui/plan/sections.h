// Splits a Program into the parts that a person can open. A whole model has the embedding, each layer, the
// output and loss, the sum over replicas and the optimizer; a single layer is one part. A part holds its
// forward and its backward steps. The parts are found once for each plan, so that no frame walks through all
// steps.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/runtime/snapshot.h"
#include "ui/context.h"

namespace shardlens::ui {

struct Section {
  std::string title;          ///< "layer 3"
  int layer = -1;             ///< of the model; -1 outside the layers
  std::vector<StepId> steps;  ///< in the Program's order, all phases
};

struct Sections {
  std::vector<Section> list;
  std::vector<int> of_step;       ///< per StepId: the section it belongs to
  std::vector<StepId> producers;  ///< per TensorId: the step that writes it; -1: none

  const Section& of(StepId step) const {
    return list[static_cast<size_t>(of_step[static_cast<size_t>(step)])];
  }
};

Sections make_sections(const Program& program);

/// Returns the sections of `plan`, which are cached for a few plans. Only for the main thread.
const Sections& sections_of(const std::shared_ptr<const Plan>& plan);

/// Returns the tensors whose values are on screen, ascending, each once. For an open part or a single layer
/// these are all tensors of its steps; for a closed model those of the selected step, and the loss.
std::vector<TensorId> tensors_on_screen(const std::shared_ptr<const Plan>& plan, const ViewState& view);

/// Opens the part of the shown model that holds the selected step. Does nothing for a single layer, or if
/// nothing is selected.
void open_part_of_selection(ViewState& view);

inline bool is_whole_model(const Program& program) {
  return program.settings.block == Block::Model;
}

}  // namespace shardlens::ui
