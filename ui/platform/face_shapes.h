// Opens faces of fonts with FreeType.
#pragma once

#include "ui/platform/fonts.h"

struct FT_FaceRec_;

namespace shardlens {

/// The face's shapes, opened once and valid until the program ends. Their size is that of whoever set it
/// last, so set it before each use. Throws a run Error if the face cannot be read.
FT_FaceRec_* shapes_of(const FontFace& face);

}  // namespace shardlens
