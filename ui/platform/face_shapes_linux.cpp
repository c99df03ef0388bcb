// Keeps the opened faces by file and place in it.
#include "ui/platform/face_shapes.h"

#include <fmt/format.h>
#include <ft2build.h>
#include FT_FREETYPE_H

#include <map>
#include <string_view>
#include <utility>

#include "engine/base/error.h"

namespace shardlens {

FT_FaceRec_* shapes_of(const FontFace& face) {
  static std::map<std::pair<std::string_view, int>, FT_Face> known;
  static const FT_Library library = [] {
    FT_Library made = nullptr;
    if (FT_Init_FreeType(&made) != 0) throw run_error("cannot start the font library FreeType");
    return made;
  }();
  FT_Face& shapes = known[{face.file, face.index}];
  if (shapes == nullptr &&
      FT_New_Memory_Face(library, reinterpret_cast<const FT_Byte*>(face.data.data()),
                         static_cast<FT_Long>(face.data.size()), face.index, &shapes) != 0)
    throw run_error(fmt::format("cannot read the font {}", face.file));
  return shapes;
}

}  // namespace shardlens
