// A loader of glyphs for Dear ImGui, which takes any character and draws it with FreeType.
#include "ui/platform/other_characters.h"

#include <fmt/format.h>
#include <ft2build.h>
#include FT_FREETYPE_H
#include <imgui.h>
#include <imgui_internal.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/error.h"
#include "ui/platform/face_shapes.h"
#include "ui/platform/system_faces.h"

namespace shardlens {
namespace {

constexpr float kEm = 0.85F;       // Roboto's em as a part of its height, which is Dear ImGui's size
constexpr float kSpelled = 0.75F;  // size of the letters of \x1b, as a part of the font's size
constexpr float kInBox = 0.5F;     // the same of the numbers in a box
constexpr uint32_t kWhite = 0xFFFFFF;

// Pixels with straight alpha, and their place: from the pen to the right, and from the baseline up.
struct Drawn {
  int width = 0, height = 0, left = 0, top = 0;
  float advance = 0;
  bool coloured = false;
  std::vector<uint32_t> pixels = {};

  uint32_t& at(int x, int y) {
    return pixels[static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)];
  }
};

uint32_t straight(const unsigned char* bgra) {
  const unsigned alpha = bgra[3];
  const auto part = [alpha](unsigned value) {
    return alpha == 0 ? 0U : std::min(255U, (value * 255 + alpha / 2) / alpha);
  };
  return IM_COL32(part(bgra[2]), part(bgra[1]), part(bgra[0]), alpha);
}

Drawn copied(const FT_GlyphSlotRec& slot) {
  const FT_Bitmap& from = slot.bitmap;
  Drawn drawn{static_cast<int>(from.width),
              static_cast<int>(from.rows),
              slot.bitmap_left,
              slot.bitmap_top,
              static_cast<float>(slot.advance.x) / 64,
              from.pixel_mode == FT_PIXEL_MODE_BGRA};
  drawn.pixels.resize(static_cast<size_t>(drawn.width) * static_cast<size_t>(drawn.height));
  for (int y = 0; y < drawn.height; ++y) {
    const unsigned char* const row = from.buffer + y * from.pitch;
    for (int x = 0; x < drawn.width; ++x) {
      const bool is_bit = from.pixel_mode == FT_PIXEL_MODE_MONO;
      const uint32_t alpha = is_bit ? ((row[x / 8] >> (7 - x % 8)) & 1) * 255U : row[x];
      drawn.at(x, y) = drawn.coloured ? straight(row + 4 * x) : kWhite | alpha << IM_COL32_A_SHIFT;
    }
  }
  return drawn;
}

// Returns `large` made smaller by `factor` < 1: each pixel is the mean of those it covers.
Drawn smaller(Drawn large, float factor) {
  const auto scaled = [factor](int length) {
    return static_cast<int>(std::lround(static_cast<float>(length) * factor));
  };
  Drawn small{std::max(1, scaled(large.width)),
              std::max(1, scaled(large.height)),
              scaled(large.left),
              scaled(large.top),
              large.advance * factor,
              large.coloured};
  small.pixels.resize(static_cast<size_t>(small.width) * static_cast<size_t>(small.height));
  for (int y = 0; y < small.height; ++y) {
    const int top = y * large.height / small.height, bottom = (y + 1) * large.height / small.height;
    for (int x = 0; x < small.width; ++x) {
      const int left = x * large.width / small.width, right = (x + 1) * large.width / small.width;
      unsigned sums[3] = {}, alphas = 0, count = 0;
      for (int from_y = top; from_y < bottom; ++from_y)
        for (int from_x = left; from_x < right; ++from_x, ++count) {
          const uint32_t pixel = large.at(from_x, from_y), alpha = pixel >> IM_COL32_A_SHIFT;
          alphas += alpha;
          for (int i = 0; i < 3; ++i) sums[i] += (pixel >> 8 * i & 255) * alpha;
        }
      const auto mean = [&](int i) { return alphas == 0 ? 0U : sums[i] / alphas; };
      small.at(x, y) = IM_COL32(mean(0), mean(1), mean(2), count == 0 ? 0U : alphas / count);
    }
  }
  return small;
}

std::optional<Drawn> draw_glyph(const FontFace& face, char32_t character, float em) {
  const FT_Face shapes = shapes_of(face);
  float factor = 1;
  if (FT_IS_SCALABLE(shapes)) {
    FT_Set_Pixel_Sizes(shapes, 0, static_cast<FT_UInt>(std::max(1L, std::lround(em))));
  } else {  // pictures of emoji, in one or a few sizes
    int best = 0;
    for (int i = 1; i < shapes->num_fixed_sizes; ++i)
      if (shapes->available_sizes[i].y_ppem > shapes->available_sizes[best].y_ppem) best = i;
    if (shapes->num_fixed_sizes == 0 || FT_Select_Size(shapes, best) != 0) return std::nullopt;
    factor = em * 64 / static_cast<float>(shapes->available_sizes[best].y_ppem);
  }
  const FT_UInt glyph = FT_Get_Char_Index(shapes, character);
  if (glyph == 0 || FT_Load_Glyph(shapes, glyph, FT_LOAD_RENDER | FT_LOAD_COLOR | FT_LOAD_TARGET_LIGHT) != 0)
    return std::nullopt;
  Drawn drawn = copied(*shapes->glyph);
  return factor < 1 ? smaller(std::move(drawn), factor) : drawn;
}

// Draws rows of letters below each other, in a box if there are several.
Drawn draw_letters(const FontFace& face, const std::vector<std::string>& rows, float em, float line) {
  const bool boxed = rows.size() > 1;
  const int border = boxed ? 2 : 0;
  const int pitch = static_cast<int>(std::lround(em * 0.8F));
  std::vector<std::vector<Drawn>> letters;
  float widest = 0;
  for (const std::string& row : rows) {
    float width = 0;
    letters.emplace_back();
    for (const char letter : row)
      if (std::optional<Drawn> drawn = draw_glyph(face, static_cast<unsigned char>(letter), em)) {
        width += drawn->advance;
        letters.back().push_back(std::move(*drawn));
      }
    widest = std::max(widest, width);
  }
  const int depth = boxed ? 0 : pitch / 3;  // below the baseline, for the tails of letters
  Drawn all{static_cast<int>(std::ceil(widest)) + 2 * border,
            static_cast<int>(rows.size()) * pitch + depth + 2 * border, 1, 0, 0};
  all.pixels.resize(static_cast<size_t>(all.width) * static_cast<size_t>(all.height));
  all.advance = static_cast<float>(all.width) + 2;
  // The box stands in the middle of the line's capital letters; letters alone stand on the line's baseline.
  all.top = boxed ? static_cast<int>(std::lround(line * 0.3F)) + all.height / 2 : pitch;
  for (size_t row = 0; row < letters.size(); ++row) {
    float x = static_cast<float>(border);
    for (Drawn& letter : letters[row]) {
      const int left = static_cast<int>(std::lround(x)) + letter.left;
      const int top = border + static_cast<int>(row + 1) * pitch - letter.top;
      for (int y = 0; y < letter.height; ++y)
        for (int i = 0; i < letter.width; ++i)
          if (left + i >= 0 && left + i < all.width && top + y >= 0 && top + y < all.height)
            all.at(left + i, top + y) = std::max(all.at(left + i, top + y), letter.at(i, y));
      x += letter.advance;
    }
  }
  if (!boxed) return all;
  for (int y = 0; y < all.height; ++y)
    for (int x = 0; x < all.width; ++x)
      if (x == 0 || y == 0 || x + 1 == all.width || y + 1 == all.height)
        all.at(x, y) = kWhite | 160U << IM_COL32_A_SHIFT;
  return all;
}

Drawn draw_character(const FontFace& letters, char32_t character, float size) {
  if (is_invisible(character)) return {};
  if (const std::string spelled = spelling_of(character); !spelled.empty())
    return draw_letters(letters, {spelled}, size * kSpelled, size);
  if (const FontFace* face = system_face_for(character))
    if (std::optional<Drawn> drawn = draw_glyph(*face, character, size * kEm)) return *drawn;
  const std::string number = fmt::format("{:04X}", static_cast<unsigned>(character));
  const size_t half = (number.size() + 1) / 2;
  return draw_letters(letters, {number.substr(0, half), number.substr(half)}, size * kInBox, size);
}

const FontFace* speller = nullptr;  // the face of letters and numbers; set once, before the first glyph

// Of what was drawn in this program so far, in any window. Only the thread that draws uses it.
enum class Direction { LeftToRight, DrewRightToLeft, Told };
Direction direction = Direction::LeftToRight;

// The glyph's number is the character's. Characters of which every font has one, and U+FFFD, which stands for
// bytes that are no text, come from the embedded fonts.
int index_of(ImFontAtlas*, ImFontConfig*, ImWchar character) {
  const bool is_ours = character != IM_UNICODE_CODEPOINT_INVALID && character != '\n' && character != '\t';
  return is_ours ? static_cast<int>(character) : 0;
}

bool load_glyph(ImFontAtlas* atlas, ImFontConfig* source, ImFontBaked* baked, void*, int index,
                ImFontGlyph* glyph, float* advance) {
  Drawn drawn;
  if (is_right_to_left(static_cast<char32_t>(index)) && direction == Direction::LeftToRight)
    direction = Direction::DrewRightToLeft;
  try {
    drawn = draw_character(*speller, static_cast<char32_t>(index), baked->Size * baked->RasterizerDensity);
  } catch (const Error&) {
    return false;  // a damaged font of the system
  }
  const float density = baked->RasterizerDensity;
  if (advance != nullptr) {
    *advance = std::round(drawn.advance / density);
    return true;
  }
  glyph->AdvanceX = std::round(drawn.advance / density);
  if (drawn.width == 0 || drawn.height == 0) return true;
  const ImFontAtlasRectId place = ImFontAtlasPackAddRect(atlas, drawn.width, drawn.height);
  if (place == ImFontAtlasRectId_Invalid) return false;
  const float baseline = std::round(baked->Ascent);
  glyph->X0 = static_cast<float>(drawn.left) / density;
  glyph->Y0 = baseline - static_cast<float>(drawn.top) / density;
  glyph->X1 = glyph->X0 + static_cast<float>(drawn.width) / density;
  glyph->Y1 = glyph->Y0 + static_cast<float>(drawn.height) / density;
  glyph->Visible = true;
  glyph->Colored = drawn.coloured;
  glyph->PackId = place;
  ImFontAtlasBakedSetFontGlyphBitmap(atlas, baked, source, glyph, ImFontAtlasPackGetRect(atlas, place),
                                     reinterpret_cast<const unsigned char*>(drawn.pixels.data()),
                                     ImTextureFormat_RGBA32, drawn.width * 4);
  return true;
}

const ImFontLoader* other_characters_loader() {
  static const ImFontLoader loader = [] {
    ImFontLoader made;
    made.Name = "other characters";
    made.FontSrcGetGlyphIndexFromCodepoint = &index_of;
    made.FontBakedLoadGlyph = &load_glyph;
    return made;
  }();
  return &loader;
}

}  // namespace

bool take_drawn_right_to_left() {
  if (direction != Direction::DrewRightToLeft) return false;
  direction = Direction::Told;
  return true;
}

void add_other_characters(ImFontAtlas& atlas, const FontFace& letters) {
  speller = &letters;
  ImFontConfig config;
  config.MergeMode = true;
  config.SizePixels = ui::kBodySize;
  config.FontLoader = other_characters_loader();
  atlas.AddFont(&config);
}

}  // namespace shardlens
