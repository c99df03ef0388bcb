// Lines of text as runs of one face each, set with the faces' own metrics: what a file of vectors needs to
// keep text as text. The same faces, fallbacks and stand-ins as on the screen, without its whole pixels.
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
    char32_t drawn = 0;  ///< the character whose shape it is
    std::string text;    ///< what it says, UTF-8: not always what is drawn
  };
  const FontFace* face = nullptr;
  FT_FaceRec_* shapes = nullptr;  ///< lives as long as the program
  float x = 0, baseline = 0;
  float em = 0;  ///< size of the em square
  float width = 0;
  std::vector<Glyph> glyphs;

  std::string drawn_text() const;  ///< UTF-8
};

/// The runs of one line, in the tape's pixels. Throws a run Error when a face cannot be read.
std::vector<TextRun> set_line(const Fonts& fonts, const mark::Words& words);

}  // namespace shardlens::ui
