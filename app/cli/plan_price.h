// `plan` with an estimate instead of a Program: whole models of any size, also in pipeline stages.
#pragma once

#include "engine/config/settings.h"

namespace shardlens::cli {

/// `plan --pp P`: a training step of a whole model. Returns the exit code.
int print_price(Settings settings, int stages, bool json);

}  // namespace shardlens::cli
