// The pages of the Program tab.
#pragma once

#include "ui/context.h"

namespace shardlens::ui {

void draw_program_steps(const Context& context);    ///< program.cpp
void draw_program_algebra(const Context& context);  ///< algebra.cpp
void draw_program_by_hand(const Context& context);  ///< by_hand.cpp
void draw_program_figures(const Context& context);  ///< figures.cpp

/// The width of the choice of pages, which stands at the right of every page's head.
float program_pages_width(const Context& context);

/// In the laboratory ↑ and ↓ go to another operation, ← and → to another way to run it. True if a key was
/// taken.
bool take_keys_to_laboratory(const Context& context);

}  // namespace shardlens::ui
