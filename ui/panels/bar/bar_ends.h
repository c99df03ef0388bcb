// The two ends of the Bar: the studio's name, and the key of the command palette.
#pragma once

#include "ui/context.h"

namespace shardlens::ui {

float brand_width(const Context& context);
/// Draws the name at the cursor and moves it behind it.
void draw_brand(const Context& context);

float hint_width(const Context& context);
/// Draws the key at the Bar's right end. A click opens the palette.
void draw_hint(const Context& context, float top);

}  // namespace shardlens::ui
