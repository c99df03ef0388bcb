// The parts of a lesson's card. Each draws at the cursor, as wide as `width`, and moves the cursor below it.
#pragma once

#include <vector>

#include "engine/lesson/marking.h"
#include "ui/context.h"

namespace shardlens::ui {

/// The type of a card, in pixels of this frame. In lecture mode it is 1.6 times as large.
inline constexpr float kCardTitle = 19, kCardText = 16, kCardQuestion = 15, kCardSmall = 13;

/// Paragraphs with their emphasis, lists, quotes and code.
void draw_card_text(const Context& context, const std::vector<ShownParagraph>& paragraphs, float width,
                    ImU32 colour);

/// A question, what was answered, and what is known of the right answer.
void draw_question(const Context& context, const ShownQuestion& question, float width);

}  // namespace shardlens::ui
