// A page has the embedded fonts alone: in place of another character Dear ImGui draws the sign of a replaced
// one.
#include "ui/platform/other_characters.h"

namespace shardlens {

bool take_drawn_right_to_left() {
  return false;
}

void add_other_characters(ImFontAtlas&, const FontFace&) {}

}  // namespace shardlens
