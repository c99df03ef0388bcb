// Builds each font as a chain of embedded faces; the first face that has a character draws it. Two characters
// of the equations are in none of the faces and are drawn as a small letter, raised or centred.
#include "ui/platform/fonts.h"

#include <imgui.h>
#include <imgui_internal.h>

#include <initializer_list>
#include <string_view>

#include "engine/config/assets.h"

namespace shardlens {

// Defined by the build.
std::span<const EmbeddedFile> embedded_fonts();

namespace {

constexpr std::string_view roboto = "Roboto/Roboto-Regular.ttf";
constexpr std::string_view roboto_bold = "Roboto/Roboto-Bold.ttf";
constexpr std::string_view roboto_italic = "Roboto/Roboto-RegularItalic.ttf";
constexpr std::string_view inconsolata = "Inconsolata-Medium.ttf";
constexpr std::string_view font_awesome = "fontawesome-webfont.ttf";

// A character that no face has, drawn as a smaller letter of the same face.
struct StandIn {
  ImWchar character;
  ImWchar letter;
  float scale;  // of the font's size
  float raise;  // of the font's size
};
constexpr StandIn kTranspose{0x1D40, 'T', 0.66F, 0.26F};
constexpr StandIn kHadamard{0x2218, 'o', 0.72F, 0.08F};

// Dear ImGui's own loader, which finds `stand_in.letter` where it is asked for `stand_in.character` and has
// no other characters.
template <const StandIn& stand_in>
const ImFontLoader* stand_in_loader() {
  static const ImFontLoader loader = [] {
    ImFontLoader made = *ImFontAtlasGetFontLoaderForStbTruetype();
    made.Name = "stand-in";
    made.FontSrcGetGlyphIndexFromCodepoint = [](ImFontAtlas* atlas, ImFontConfig* source, ImWchar character) {
      const ImFontLoader* all = ImFontAtlasGetFontLoaderForStbTruetype();
      return character == stand_in.character
                 ? all->FontSrcGetGlyphIndexFromCodepoint(atlas, source, stand_in.letter)
                 : 0;
    };
    return made;
  }();
  return &loader;
}

template <const StandIn& stand_in>
void add_stand_in(ImFontAtlas& atlas, std::string_view face) {
  const std::string_view data = find_embedded(embedded_fonts(), face);
  ImFontConfig config;
  config.FontDataOwnedByAtlas = false;
  config.PixelSnapH = true;
  config.MergeMode = true;
  config.FontLoader = stand_in_loader<stand_in>();
  config.ExtraSizeScale = stand_in.scale;
  config.GlyphOffset.y = -stand_in.raise * ui::kBodySize;
  atlas.AddFontFromMemoryTTF(const_cast<char*>(data.data()), static_cast<int>(data.size()), ui::kBodySize,
                             &config);
}

ImFont* add_chain(ImFontAtlas& atlas, std::initializer_list<std::string_view> faces) {
  ImFont* font = nullptr;
  for (const std::string_view face : faces) {
    const std::string_view data = find_embedded(embedded_fonts(), face);
    ImFontConfig config;
    config.FontDataOwnedByAtlas = false;
    config.PixelSnapH = true;  // textures are not filtered: a glyph stands on whole pixels
    config.MergeMode = font != nullptr;
    // The atlas only reads the data, though its interface asks for a mutable pointer.
    font = atlas.AddFontFromMemoryTTF(const_cast<char*>(data.data()), static_cast<int>(data.size()),
                                      ui::kBodySize, &config);
  }
  add_stand_in<kTranspose>(atlas, *faces.begin());
  add_stand_in<kHadamard>(atlas, *faces.begin());
  return font;
}

}  // namespace

ui::Fonts add_fonts(ImFontAtlas& atlas) {
  // Lines are smoothed by their geometry, which needs no filter, and not by a texture, which does.
  atlas.Flags |= ImFontAtlasFlags_NoBakedLines;
  return {.body = add_chain(atlas, {roboto, inconsolata, font_awesome}),
          .bold = add_chain(atlas, {roboto_bold, inconsolata, font_awesome}),
          .italic = add_chain(atlas, {roboto_italic, inconsolata}),
          .mono = add_chain(atlas, {inconsolata, roboto, font_awesome})};
}

}  // namespace shardlens
