// Splits lines of text into runs of one face each, placed with the faces' own metrics. A vector file needs
// this to keep text as text. Faces, fallbacks and stand-ins are those of the screen, but positions are not
// whole pixels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ui/platform/fonts.h"
#include "ui/widgets/tape.h"

struct FT_FaceRec_;

namespace shardlens::ui {

struct TextRun {
  struct Glyph {
    uint32_t index = 0;  ///< in the face
    float x = 0;         ///< its origin, from the beginning of the run
    char32_t drawn = 0;  ///< the character whose shape is drawn
    std::string text;    ///< its text, UTF-8; may differ from `drawn`
  };
  const FontFace* face = nullptr;
  FT_FaceRec_* shapes = nullptr;  ///< valid until the program ends
  float x = 0, baseline = 0;
  float em = 0;  ///< size of the em square
  float width = 0;
  std::vector<Glyph> glyphs;

  std::string drawn_text() const;  ///< UTF-8
};

/// Returns the runs of one line, in the tape's pixels. Throws a run Error if a face cannot be read.
std::vector<TextRun> set_line(const Fonts& fonts, const mark::Words& words);

}  // namespace shardlens::ui
