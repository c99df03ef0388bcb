// `verify --break NAME --steps N` and `verify --break all`: what a planted fault changes, and which check
// finds it.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/program/fault.h"

namespace shardlens::cli {

/// Trains a sound and a broken run side by side and prints curves, spread and checks. Returns 1 if a check
/// finds the fault, else 0. `replica`: the only one that the fault is planted in; none: all.
int break_and_train(const Settings& settings, Fault fault, std::optional<int> replica, int64_t steps,
                    bool json);

/// Runs every fault in turn and prints one table. If a fault is not possible at these settings, they are
/// changed so that it is. With `steps` > 0 each run also trains. Returns 1 if any fault is found.
int break_all(const Settings& settings, int64_t steps, bool json);

}  // namespace shardlens::cli
