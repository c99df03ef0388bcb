// A Program in the parts a person opens: of a whole model its embedding, each layer, what follows the last
// one, the sum over replicas and the optimizer. A part holds its forward and its backward steps; of a single
// layer there is one part. Read off the Program's steps once a plan, so that no frame walks through all of
// them.
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

/// The sections of `plan`, made once and remembered until another plan is asked about. The main thread's.
const Sections& sections_of(const std::shared_ptr<const Plan>& plan);

/// The tensors whose values are on screen: of an open part, or of a single layer, all that its steps touch;
/// of a closed model the selected step's and the loss. Ascending, each once.
std::vector<TensorId> tensors_on_screen(const std::shared_ptr<const Plan>& plan, const ViewState& view);

inline bool is_whole_model(const Program& program) {
  return program.settings.block == Block::Model;
}

}  // namespace shardlens::ui
