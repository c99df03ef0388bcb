// The parts of the Train tab: what is chosen at the left, what was measured at the right.
#pragma once

#include "ui/panels/parts.h"

namespace shardlens::ui {

/// The choices of one model or of the comparison, as rows of a form in the current window; changes them.
void draw_train_form(const Context& context);

/// The curves of what is trained, in `size` pixels from `min`: loss, and in fp16 the loss scale beside it;
/// with room enough also speed and the gradients' norms.
void draw_train_plots(const Context& context, ImVec2 min, ImVec2 size);

/// The colour of a curve of a comparison, or of the only one there is.
ImU32 curve_colour(const Theme& theme, size_t curve);

}  // namespace shardlens::ui
