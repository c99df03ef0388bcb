// Writes a tape as a vector file: rectangles stay rectangles, and text stays text that can be selected and
// searched. Pictures of tensors are embedded and not smoothed. The used fonts are embedded with only the used
// characters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/io/output_file.h"
#include "ui/widgets/tape.h"

namespace shardlens::ui {

/// As on the screen, glyphs are placed one by one: no kerning, no ligatures. It stands in every SVG and every
/// page of the web that this program draws, and nowhere else.
inline constexpr const char* kGlyphByGlyph = "svg text{font-kerning:none;font-variant-ligatures:none}\n";

/// A figure or a handout: SVG, PDF or HTML.
inline constexpr OutputKind kVectorFile{
    "a figure or a handout that Shardlens drew", [](std::string_view beginning, std::string_view end) {
      const auto is_in = [](std::string_view text, std::string_view mark) {
        return text.find(mark) != std::string_view::npos;
      };
      if (!beginning.starts_with("%PDF-")) return is_in(beginning, kGlyphByGlyph);
      return is_in(beginning, "/Creator (Shardlens)") || is_in(end, "/Creator (Shardlens)");
    }};

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
