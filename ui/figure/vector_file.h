// A tape as a file of vectors: rectangles stay rectangles, text stays text (it can be selected and searched),
// pictures of tensors are embedded and not smoothed. The faces used are embedded, cut down to the characters
// used.
#pragma once

#include <string>

#include "ui/widgets/tape.h"

namespace shardlens::ui {

struct Page {
  ImVec2 size;       ///< in the tape's pixels
  float pixels = 1;  ///< of the tape in a point of the page (1/96 inch)
  ImU32 ground = 0;
  std::string title;
};

/// The whole file.
std::string to_svg(const Tape& tape, const Page& page, const Fonts& fonts);
/// Throws a run Error when the page cannot be made.
std::string to_pdf(const Tape& tape, const Page& page, const Fonts& fonts);

}  // namespace shardlens::ui
