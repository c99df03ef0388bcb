// Writes a tape as a vector file: rectangles stay rectangles, and text stays text that can be selected and
// searched. Pictures of tensors are embedded and not smoothed. The used fonts are embedded with only the used
// characters.
#pragma once

#include <string>
#include <vector>

#include "ui/widgets/tape.h"

namespace shardlens::ui {

struct Page {
  ImVec2 size;       ///< in the tape's pixels
  float pixels = 1;  ///< pixels of the tape in a point of the page (1/96 inch)
  ImU32 ground = 0;
  std::string title;
};

struct DrawnPage {
  Tape tape;
  Page page;
};

/// An entry of the list of contents that a reader shows beside the pages.
struct PdfBookmark {
  std::string words;
  int page = 0;  ///< from 0
};

struct PdfDocument {
  std::string title;
  std::vector<DrawnPage> pages;
  std::vector<PdfBookmark> bookmarks;
};

/// Returns the whole file.
std::string to_svg(const Tape& tape, const Page& page, const Fonts& fonts);
/// Returns the whole file. Throws a run Error if it cannot be made.
std::string to_pdf(const PdfDocument& document, const Fonts& fonts);
std::string to_pdf(const Tape& tape, const Page& page, const Fonts& fonts);

}  // namespace shardlens::ui
