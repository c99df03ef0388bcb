// The studio's fonts, embedded in the program: Roboto for words, Inconsolata for numbers, shapes and
// equations. Each falls back on the other for characters it lacks (arrows, Greek), and Font Awesome 4 adds
// the icons
// (<icons_font_awesome_4.h>, ICON_FA_PLAY and so on). Glyphs are rasterised on demand at any size, so scaling
// is a matter of style alone: ImGui::PushFont(fonts.mono, size), style.FontScaleMain.
#pragma once

struct ImFont;
struct ImFontAtlas;

namespace shardlens {

struct Fonts {
  ImFont* regular = nullptr;  // the default font
  ImFont* bold = nullptr;
  ImFont* italic = nullptr;
  ImFont* mono = nullptr;
};

// Size of ordinary text at scale 1, in pixels.
inline constexpr float base_font_size = 15.0F;

Fonts add_fonts(ImFontAtlas& atlas);

}  // namespace shardlens
