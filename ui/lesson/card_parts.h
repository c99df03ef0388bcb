// The parts of a lesson's card. Each draws at the cursor, as wide as `width`, and moves the cursor below it.
#pragma once

#include <imgui.h>

#include <string>
#include <vector>

#include "engine/lesson/marking.h"
#include "ui/context.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {

/// The type of a card, in pixels of this frame. Lecture mode makes it larger.
inline constexpr float kCardTitle = 19, kCardText = 16, kCardQuestion = 15, kCardSmall = 13;

/// Pixels of a length in the card, which is smaller if a scene would not fit otherwise.
float card_px(const Context& context, float at_scale_one);

/// What who teaches can press in front of a class, for the question that is asked now.
std::string class_keys(const Context& context);

/// The time since the lesson was opened, and the time that it takes: "12:05 of 12 min".
std::string clock_text(const Context& context);

/// A dot a scene, `pitch` apart: seen, shown, and still to come. A click goes there.
void draw_scene_dots(const Context& context, ImVec2 left_middle, float pitch);

/// Words of one style, wrapped, with so much room below them; nothing if there are none.
void draw_card_words(const Context& context, const TextStyle& style, const std::string& words, float width,
                     float below, float indent = 0);

/// Paragraphs with their emphasis, lists, quotes and code.
void draw_card_text(const Context& context, const std::vector<ShownParagraph>& paragraphs, float width,
                    ImU32 colour);

/// A question, and the right answer if it is known.
void draw_question(const Context& context, const ShownQuestion& question, float width);

/// What a person is told who has answered wrong; empty: nothing.
std::string reply_words(const Context& context, const Question& question);

/// The reply to the scene's last wrong answer: how high it is in a card with so much room; 0: there is none.
/// Before a class it stands with its question.
float reply_height(const Context& context, float width, float room);
void draw_reply(const Context& context, float height);

/// Instead of a verdict, while an answer or a reveal waits_to_be_marked().
inline constexpr const char* kWaitsToBeMarked = "The answer comes when the engine has run this scene \u2026";

/// A step or tensor as the page calls it, too.
std::string named_as_shown(const Context& context, const std::string& name);

}  // namespace shardlens::ui
