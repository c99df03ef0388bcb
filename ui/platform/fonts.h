// The studio's fonts, embedded in the program: Roboto for words, Inconsolata for numbers, shapes and
// equations. Each falls back on the other for characters it lacks (arrows, Greek), and Font Awesome 4 adds
// the icons (<icons_font_awesome_4.h>, ICON_FA_PLAY and so on). What no embedded font has comes from a font
// of the system (other_characters.h). Glyphs are rasterised on demand at any size, so scaling is a matter of
// style alone: ImGui::PushFont(fonts.mono, size), style.FontScaleMain.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "ui/theme/theme.h"

struct ImFontAtlas;

namespace shardlens {

ui::Fonts add_fonts(ImFontAtlas& atlas);

/// A face of a font; its file's bytes are valid until the program ends.
struct FontFace {
  std::string_view file;    ///< "Roboto/Roboto-Bold.ttf"
  std::string_view family;  ///< "Roboto"
  bool bold = false, italic = false;
  std::string_view data;
  int index = 0;  ///< of the face in its file
};

/// The faces of a font; the first that has a character draws it.
std::span<const FontFace> faces_of(const ui::Fonts& fonts, const ImFont* font);

/// A character that no face has, drawn as a smaller letter of the font's first face. Sizes are parts of the
/// font's size.
struct StandIn {
  char32_t character;
  char32_t letter;
  float scale, raise;
};
std::optional<StandIn> stand_in_for(char32_t character);

}  // namespace shardlens
