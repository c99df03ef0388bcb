// The zoom of the Inspector's pictures: the part of the tensor that every pane shows.
#pragma once

#include <memory>

#include "engine/program/program.h"
#include "ui/widgets/stretch.h"

namespace shardlens {
struct Plan;
}

namespace shardlens::ui {

struct InspectorView {
  std::weak_ptr<const Plan> plan;  ///< the zoom belongs to this plan's
  TensorId tensor = kNoTensor;     ///< tensor, and does not outlive it
  Stretch rows, cols;              ///< of the full tensor, in elements; empty: all
  bool enlarged = false;           ///< the selected rank is drawn large
};

}  // namespace shardlens::ui
