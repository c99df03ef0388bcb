// How large a Program will be, before it is planned. The steps grow evenly with the layers and with the parts
// of the batch, so the Programs of one and two layers and parts give the number for any.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/program/program.h"

namespace shardlens {

using PlanProgram = std::function<Program(const Settings&)>;

/// Returns about how many steps `plan` would plan for `settings`, which must be valid and of a whole model.
/// Plans four small Programs.
int64_t expected_steps(const Settings& settings, const PlanProgram& plan);

/// Throws a request Error if `plan` would plan more than check_program.h allows. The message says how many
/// steps that would be and what would work. Takes no time for usual sizes.
void refuse_if_too_many_steps(const Settings& settings, const PlanProgram& plan);

}  // namespace shardlens
