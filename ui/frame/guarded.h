// Draws a panel's content so that what is thrown in it ends neither the frame nor the program.
#pragma once

#include "ui/context.h"
#include "ui/frame/windows.h"

namespace shardlens::ui {

/// Calls draw(context) in the current window. If that throws, ends what it has begun there, and writes what
/// went wrong in its place. The other panels are drawn as ever.
void draw_guarded(const Context& context, DrawPanel draw);

}  // namespace shardlens::ui
