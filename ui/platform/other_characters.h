// Characters that no embedded font has. A font of the system draws those that one of its fonts has. The
// others, and control characters, which have no shape at all, are spelled: \x1b, U+202E, or a box with the
// number. So no name on the screen hides a part of itself.
#pragma once

#include <string>

#include "ui/platform/fonts.h"

struct ImFontAtlas;

namespace shardlens {

/// Adds them to the font that was added to the atlas last. `letters`: the face that spells, valid until the
/// program ends.
void add_other_characters(ImFontAtlas& atlas, const FontFace& letters);

/// True for characters that have no shape and are not shown either, such as the joiner of two emoji.
bool is_invisible(char32_t character);
/// True for letters of scripts that are written from right to left. They are drawn one after the other, like
/// all characters.
bool is_right_to_left(char32_t character);
/// True once, after the first of them was drawn in this program.
bool take_drawn_right_to_left();
/// Returns how a character without a shape is spelled: "\x1b"; empty if it has a shape.
std::string spelling_of(char32_t character);

}  // namespace shardlens
