// The derivation of the selected step: as a page of the Stage, and as a part of the Inspector.
#pragma once

#include <memory>

#include "engine/derivation/derivation.h"
#include "ui/context.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {

/// The derivation of a step of the shown plan, kept from frame to frame; null if no step is selected,
/// or if it would answer the lesson's question.
std::shared_ptr<const Derivation> derivation_of_selection(const Context& context);

/// Draws the lines at `at`, with the largest symbols up to `most` pixels at which the formulas are at most
/// `width` wide and, if `height` is above 0, everything is at most so high. Returns the height.
float draw_derivation_lines(const Context& context, const Derivation& derivation, ImVec2 at, float width,
                            float height, float most);

/// Puts it on the clipboard as LaTeX.
void copy_as_latex(const Derivation& derivation);

}  // namespace shardlens::ui
