// The studio's fonts, embedded in the program: Roboto for words, Inconsolata for numbers, shapes and
// equations. Each falls back on the other for characters it lacks (arrows, Greek), and Font Awesome 4 adds
// the icons
// (<icons_font_awesome_4.h>, ICON_FA_PLAY and so on). Glyphs are rasterised on demand at any size, so scaling
// is a matter of style alone: ImGui::PushFont(fonts.mono, size), style.FontScaleMain.
#pragma once

#include "ui/theme/theme.h"

struct ImFontAtlas;

namespace shardlens {

ui::Fonts add_fonts(ImFontAtlas& atlas);

}  // namespace shardlens
