// Goes through the steps and tracks which tensors the lane still works on.
#include "engine/program/overlap_waits.h"

#include <set>

namespace shardlens {

std::vector<bool> waits_for_overlapped(const Program& program) {
  // A view of some rows counts as a tensor of its own: steps on other rows of the same tensor do not wait.
  const auto place_of = [&](TensorId id) {
    while (program.tensor(id).storage != kNoTensor && !is_row_view(program, program.tensor(id)))
      id = program.tensor(id).storage;
    return id;
  };
  std::set<TensorId> in_lane;  // by place
  std::set<Axis> axes_in_lane;
  std::vector<bool> behind(program.steps.size(), false);
  for (const Step& step : program.steps) {
    if (!step.overlapped && in_lane.empty()) continue;
    bool waits = is_collective(step.op) && axes_in_lane.contains(step.axis);
    for (const std::vector<TensorId>* tensors : {&step.inputs, &step.outputs}) {
      for (const TensorId id : *tensors) {
        if (step.overlapped) in_lane.insert(place_of(id));
        waits = waits || in_lane.contains(place_of(id));
      }
    }
    if (step.overlapped) {
      axes_in_lane.insert(step.axis);
    } else if (waits) {
      behind[static_cast<size_t>(step.id)] = true;
      in_lane.clear();
      axes_in_lane.clear();
    }
  }
  return behind;
}

}  // namespace shardlens
