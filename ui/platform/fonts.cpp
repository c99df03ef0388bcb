// Builds each font as a chain of embedded faces; the first face that has a character draws it.
#include "ui/platform/fonts.h"

#include <imgui.h>

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

ImFont* add_chain(ImFontAtlas& atlas, std::initializer_list<std::string_view> faces) {
  ImFont* font = nullptr;
  for (const std::string_view face : faces) {
    const std::string_view data = find_embedded(embedded_fonts(), face);
    ImFontConfig config;
    config.FontDataOwnedByAtlas = false;
    config.MergeMode = font != nullptr;
    // The atlas only reads the data, though its interface asks for a mutable pointer.
    font = atlas.AddFontFromMemoryTTF(const_cast<char*>(data.data()), static_cast<int>(data.size()),
                                      ui::kBodySize, &config);
  }
  return font;
}

}  // namespace

ui::Fonts add_fonts(ImFontAtlas& atlas) {
  return {.body = add_chain(atlas, {roboto, inconsolata, font_awesome}),
          .bold = add_chain(atlas, {roboto_bold, inconsolata, font_awesome}),
          .italic = add_chain(atlas, {roboto_italic, inconsolata}),
          .mono = add_chain(atlas, {inconsolata, roboto, font_awesome})};
}

}  // namespace shardlens
