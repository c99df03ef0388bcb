// The values a slider stops at: a short list of sizes that a transformer can have. An exact value can be
// typed.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/config/settings.h"

namespace shardlens::ui {

/// Returns the value at `share` in [0, 1] of a slider with evenly spaced stops.
int64_t value_at(const std::vector<int64_t>& values, double share);
/// Returns the place of `value` on that slider, in [0, 1]. A value between two stops gets a place between
/// them.
double share_of(const std::vector<int64_t>& values, int64_t value);

/// Multiples of the number of heads, with 4 to 256 features for each head: the heads divide every stop.
std::vector<int64_t> hidden_stops(const Model& model);
/// Divisors of hidden that leave a head at least 4 features.
std::vector<int64_t> heads_stops(const Model& model);
/// Divisors of the heads.
std::vector<int64_t> key_heads_stops(const Model& model);
/// 1, 2, 4 and 8 times hidden.
std::vector<int64_t> ffn_stops(const Model& model);
std::vector<int64_t> layers_stops();
/// 8 to 4096, and at most the model's positions if it has positions.
std::vector<int64_t> sequence_stops(const Model& model);
std::vector<int64_t> batch_stops();

}  // namespace shardlens::ui
