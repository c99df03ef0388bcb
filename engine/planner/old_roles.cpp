#include "engine/planner/old_roles.h"

#include <algorithm>
#include <exception>
#include <map>
#include <string>

#include "engine/planner/planner.h"

namespace shardlens {

void add_old_roles(Program& program) {
  const auto has_role = [](const Tensor& tensor) { return tensor.role != Role::None; };
  if (std::ranges::any_of(program.tensors, has_role)) return;
  Program planned;
  try {
    planned = plan_program(program.settings);
  } catch (const std::exception&) {  // whatever a damaged file asks for
    return;
  }
  std::map<std::string, const Tensor*> by_name;
  for (const Tensor& tensor : planned.tensors) by_name[tensor.name] = &tensor;
  for (Tensor& tensor : program.tensors) {
    const auto found = by_name.find(tensor.name);
    if (found == by_name.end()) continue;
    tensor.role = found->second->role;
    tensor.layer = found->second->layer;
    tensor.micro_batch = found->second->micro_batch;
  }
  std::map<std::string, int> part_by_name;
  for (const Step& step : planned.steps) part_by_name[step.name] = step.micro_batch;
  for (Step& step : program.steps) {
    const auto found = part_by_name.find(step.name);
    if (found != part_by_name.end()) step.micro_batch = found->second;
  }
}

}  // namespace shardlens
