// Two settings compared in words, for notices, remedies and undo.
#pragma once

#include <string>

#include "engine/config/settings.h"

namespace shardlens::ui {

/// Returns what differs between two settings, with the values of `of`: "T = 4, split megatron". Empty if they
/// are equal.
std::string difference(const Settings& of, const Settings& from);

}  // namespace shardlens::ui
