// A rank's time by kind of step, as printed and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/runtime/measure/step_bench.h"

namespace shardlens::cli {

/// Returns the seconds of each kind of step.
nlohmann::ordered_json op_times_json(const std::vector<OpTime>& times);

/// Prints one line for each kind of step, with its share of `whole_seconds`. Leaves out kinds with less than
/// 0.1 %.
void print_op_times(const std::vector<OpTime>& times, double whole_seconds);

}  // namespace shardlens::cli
