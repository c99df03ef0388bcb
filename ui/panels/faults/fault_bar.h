// The strip that a fault leaves under the Bar: what was lost and where, the whole message on request, and the
// way on. It stays until the run or the training is begun once more, and nothing else waits for it.
#pragma once

#include "ui/context.h"

namespace shardlens::ui {

/// Of the run that is shown, and of the training: each has a strip of its own.
bool has_run_fault(const Context& context);
bool has_training_fault(const Context& context);
void draw_run_fault(const Context& context);
void draw_training_fault(const Context& context);

}  // namespace shardlens::ui
