// What a rank's time went into, by kind of step, as printed and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/runtime/measure/step_bench.h"

namespace shardlens::cli {

/// Seconds by kind of step.
nlohmann::ordered_json op_times_json(const std::vector<OpTime>& times);

/// A line each, with its share of `whole_seconds`; what takes less than a thousandth is left out.
void print_op_times(const std::vector<OpTime>& times, double whole_seconds);

}  // namespace shardlens::cli
