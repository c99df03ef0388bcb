// Why the wanted settings do not run, on the page itself, with the settings that would help as buttons.
#pragma once

#include "ui/context.h"

namespace shardlens::ui {

/// Draws a card at the cursor if the run was refused, failed or was cancelled, and moves the cursor below it.
/// A lost rank has a strip under the Bar instead. Returns true if there is a card.
bool draw_refusal(const Context& context);

}  // namespace shardlens::ui
