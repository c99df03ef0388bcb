// Sets lines of text with FreeType, which reads the embedded fonts. In Dear ImGui a text size is the height
// from ascender to descender, and the baseline is that of a font's first face.
#include "ui/figure/typesetter.h"

#include <ft2build.h>
#include FT_FREETYPE_H
#include <imgui_internal.h>

#include <optional>

#include "engine/base/shown.h"
#include "ui/platform/face_shapes.h"
#include "ui/platform/system_faces.h"

namespace shardlens::ui {
namespace {

constexpr char32_t kUnknown = U'?';

/// Returns the height of a line in units of the face.
float height_units(FT_Face shapes) {
  return static_cast<float>(shapes->ascender - shapes->descender);
}

float advance(FT_Face shapes, uint32_t glyph) {
  if (FT_Load_Glyph(shapes, glyph, FT_LOAD_NO_SCALE) != 0) return 0;
  return static_cast<float>(shapes->glyph->metrics.horiAdvance);
}

struct Shape {
  const FontFace* face;
  char32_t drawn;
  float scale = 1, raise = 0;  // as parts of the font's size
};

Shape shape_of(std::span<const FontFace> faces, char32_t character) {
  for (const FontFace& face : faces)
    if (FT_Get_Char_Index(shapes_of(face), character) != 0) return {&face, character};
  if (const std::optional<StandIn> other = stand_in_for(character))
    return {&faces.front(), other->letter, other->scale, other->raise};
  const FontFace* const of_system = system_face_for(character);
  if (of_system != nullptr && FT_IS_SCALABLE(shapes_of(*of_system))) return {of_system, character};
  return {&faces.front(), kUnknown};
}

std::string utf8(char32_t character) {
  char bytes[5] = {};
  ImTextCharToUtf8(bytes, character);
  return bytes;
}

}  // namespace

std::string TextRun::drawn_text() const {
  std::string text;
  for (const Glyph& glyph : glyphs) text += utf8(glyph.drawn);
  return text;
}

std::vector<TextRun> set_line(const Fonts& fonts, const mark::Words& words) {
  const std::span<const FontFace> faces = faces_of(fonts, words.style.font);
  const FT_Face first = shapes_of(faces.front());
  const float baseline =
      words.at.y + words.style.size * static_cast<float>(first->ascender) / height_units(first);
  std::vector<TextRun> runs;
  float x = 0, raised = 0;
  const std::string all = printable(words.text);
  const char* const end = all.data() + all.size();
  for (const char* at = all.data(); at < end;) {
    unsigned character = 0;
    const int bytes = ImTextCharFromUtf8(&character, at, end);
    const std::string text(at, at + std::max(1, bytes));
    at += text.size();
    const Shape shape = shape_of(faces, character);
    const FT_Face shapes = shapes_of(*shape.face);
    const float height = words.style.size * shape.scale;
    const float unit = height / height_units(shapes);
    const float raise = words.style.size * shape.raise;
    const float em = unit * static_cast<float>(shapes->units_per_EM);
    if (runs.empty() || runs.back().face != shape.face || runs.back().em != em || raised != raise) {
      runs.push_back({shape.face, shapes, x, baseline - raise, em, 0, {}});
      raised = raise;
    }
    TextRun& run = runs.back();
    const uint32_t glyph = FT_Get_Char_Index(shapes, shape.drawn);
    run.glyphs.push_back({glyph, x - run.x, shape.drawn, text});
    x += advance(shapes, glyph) * unit;
    run.width = x - run.x;
  }
  const float shift = words.at.x - (words.align == Align::Left ? 0 : words.align == Align::Right ? x : x / 2);
  for (TextRun& run : runs) run.x += shift;
  return runs;
}

}  // namespace shardlens::ui
