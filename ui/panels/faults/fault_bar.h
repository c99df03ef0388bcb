// The strip under the Bar after a fault: which rank was lost and where, the whole message on request, and a
// button to run again. It stays until the run or the training starts again, and it blocks nothing else.
#pragma once

#include "ui/context.h"

namespace shardlens::ui {

/// The shown run and the training each have a strip of their own.
bool has_run_fault(const Context& context);
bool has_training_fault(const Context& context);
void draw_run_fault(const Context& context);
void draw_training_fault(const Context& context);

}  // namespace shardlens::ui
