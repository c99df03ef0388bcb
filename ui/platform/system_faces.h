// Finds a font of this system for a character that no embedded font has, such as a Chinese one in a file's
// name.
#pragma once

#include "ui/platform/fonts.h"

namespace shardlens {

/// Returns the face that the system prefers among those with this character; null if it has none. The first
/// call reads the system's list of fonts, which takes some milliseconds.
const FontFace* system_face_for(char32_t character);

}  // namespace shardlens
