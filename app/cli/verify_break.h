// `verify --break NAME --steps N` and `verify --break all`: what a planted fault does, and what sees it.
#pragma once

#include <cstdint>

#include "engine/program/fault.h"

namespace shardlens::cli {

/// Trains sound and broken side by side and prints curves, spread and checks. 1 when a check finds the fault,
/// 0 when none does.
int break_and_train(const Settings& settings, Fault fault, int64_t steps, bool json);

/// Every fault in turn, at these settings or, where they give no opportunity, with the change that does; with
/// `steps` of training, or without. One table. 1 when any is found.
int break_all(const Settings& settings, int64_t steps, bool json);

}  // namespace shardlens::cli
