// Roles for Programs that were recorded before tensors had one.
#pragma once

#include "engine/program/program.h"

namespace shardlens {

/// If no tensor of `program` has a role, gives each one role, layer and micro-batch of the tensor that has
/// its name when the same settings are planned now. Tensors that are not planned any more, and all of
/// settings that cannot be planned, stay without.
void add_old_roles(Program& program);

}  // namespace shardlens
