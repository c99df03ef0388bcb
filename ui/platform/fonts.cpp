// Builds each font as a chain of embedded faces; the first face that has a character draws it. Two characters
// of the equations are missing in all faces, so they are drawn as a small letter, raised or centred. Any
// other character is drawn by other_characters.h.
#include "ui/platform/fonts.h"

#include <imgui.h>
#include <imgui_internal.h>

#include <array>

#include "engine/config/assets.h"
#include "ui/platform/other_characters.h"

namespace shardlens {

// Defined by the build.
std::span<const EmbeddedFile> embedded_fonts();

namespace {

using Chain = std::span<const FontFace>;

FontFace face(std::string_view file, std::string_view family, bool bold = false, bool italic = false) {
  return {file, family, bold, italic, find_embedded(embedded_fonts(), file), 0};
}

struct Chains {
  FontFace roboto = face("Roboto/Roboto-Regular.ttf", "Roboto");
  FontFace roboto_bold = face("Roboto/Roboto-Bold.ttf", "Roboto", true);
  FontFace roboto_italic = face("Roboto/Roboto-RegularItalic.ttf", "Roboto", false, true);
  FontFace inconsolata = face("Inconsolata-Medium.ttf", "Inconsolata");
  FontFace font_awesome = face("fontawesome-webfont.ttf", "FontAwesome");
  std::array<FontFace, 3> body{roboto, inconsolata, font_awesome};
  std::array<FontFace, 3> bold{roboto_bold, inconsolata, font_awesome};
  std::array<FontFace, 2> italic{roboto_italic, inconsolata};
  std::array<FontFace, 3> mono{inconsolata, roboto, font_awesome};
};

const Chains& chains() {
  static const Chains all;
  return all;
}

constexpr StandIn kTranspose{0x1D40, U'T', 0.66F, 0.26F};
constexpr StandIn kHadamard{0x2218, U'o', 0.72F, 0.08F};

// Dear ImGui's own loader, changed so that it returns `stand_in.letter` for `stand_in.character` and has no
// other characters.
template <const StandIn& stand_in>
const ImFontLoader* stand_in_loader() {
  static const ImFontLoader loader = [] {
    ImFontLoader made = *ImFontAtlasGetFontLoaderForStbTruetype();
    made.Name = "stand-in";
    made.FontSrcGetGlyphIndexFromCodepoint = [](ImFontAtlas* atlas, ImFontConfig* source, ImWchar character) {
      const ImFontLoader* all = ImFontAtlasGetFontLoaderForStbTruetype();
      return character == static_cast<ImWchar>(stand_in.character)
                 ? all->FontSrcGetGlyphIndexFromCodepoint(atlas, source,
                                                          static_cast<ImWchar>(stand_in.letter))
                 : 0;
    };
    return made;
  }();
  return &loader;
}

template <const StandIn& stand_in>
void add_stand_in(ImFontAtlas& atlas, std::string_view data) {
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

ImFont* add_chain(ImFontAtlas& atlas, Chain faces) {
  ImFont* font = nullptr;
  for (const FontFace& face : faces) {
    ImFontConfig config;
    config.FontDataOwnedByAtlas = false;
    config.PixelSnapH = true;  // textures are not filtered, so a glyph must be on whole pixels
    config.MergeMode = font != nullptr;
    // The atlas only reads the data, though its interface asks for a mutable pointer.
    font = atlas.AddFontFromMemoryTTF(const_cast<char*>(face.data.data()), static_cast<int>(face.data.size()),
                                      ui::kBodySize, &config);
  }
  add_stand_in<kTranspose>(atlas, faces.front().data);
  add_stand_in<kHadamard>(atlas, faces.front().data);
  add_other_characters(atlas, chains().inconsolata);
  return font;
}

}  // namespace

ui::Fonts add_fonts(ImFontAtlas& atlas) {
  // Lines are smoothed by geometry, not by a texture, because a texture would need filtering.
  atlas.Flags |= ImFontAtlasFlags_NoBakedLines;
  const Chains& chain = chains();
  return {.body = add_chain(atlas, chain.body),
          .bold = add_chain(atlas, chain.bold),
          .italic = add_chain(atlas, chain.italic),
          .mono = add_chain(atlas, chain.mono)};
}

std::span<const FontFace> faces_of(const ui::Fonts& fonts, const ImFont* font) {
  const Chains& chain = chains();
  if (font == fonts.bold) return chain.bold;
  if (font == fonts.italic) return chain.italic;
  if (font == fonts.mono) return chain.mono;
  return chain.body;
}

std::optional<StandIn> stand_in_for(char32_t character) {
  for (const StandIn& known : {kTranspose, kHadamard})
    if (known.character == character) return known;
  return std::nullopt;
}

}  // namespace shardlens
