// The values a slider stops at: a short list of sizes that a transformer can have. An exact value can be
// typed.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/config/settings.h"

namespace shardlens::ui {

/// The value at `share` in [0, 1] of a slider whose stops are evenly spaced.
int64_t value_at(const std::vector<int64_t>& values, double share);
/// Where `value` stands on that slider, in [0, 1]: between two stops when it is neither.
double share_of(const std::vector<int64_t>& values, int64_t value);

/// Multiples of the heads, with 4 to 256 features a head: every stop is a hidden size the heads divide.
std::vector<int64_t> hidden_stops(const Model& model);
/// Divisors of hidden that leave a head at least 4 features.
std::vector<int64_t> heads_stops(const Model& model);
/// Divisors of the heads.
std::vector<int64_t> key_heads_stops(const Model& model);
/// 1, 2, 4 and 8 times hidden.
std::vector<int64_t> ffn_stops(const Model& model);
std::vector<int64_t> layers_stops();
/// 8 to 4096, at most the model's positions where it has any.
std::vector<int64_t> sequence_stops(const Model& model);
std::vector<int64_t> batch_stops();

}  // namespace shardlens::ui
