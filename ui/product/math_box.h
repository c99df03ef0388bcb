// A piece of set mathematics: marks placed about the line on which letters stand. It is laid out first, so
// that a page can choose a size at which all its lines fit, and is drawn then.
#pragma once

#include <string>
#include <vector>

#include "engine/derivation/math.h"
#include "ui/theme/theme.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {

/// Positions count from the left end of the line on which letters stand; y grows downwards.
struct MathBox {
  enum class MarkKind { Text, Line, Fill, Outline, Dashed };
  struct Mark {
    MarkKind kind = MarkKind::Text;
    ImVec2 from, to;  ///< a text has its top at `from`
    TextStyle text;
    std::string words;
    ImU32 colour = 0;
    float thickness = 1;
  };

  float width = 0;
  float above = 0, below = 0;  ///< how far it reaches from that line
  std::vector<Mark> marks;

  float height() const { return above + below; }
  /// Adds another box with its left end at `at`, and grows by it.
  void place(const MathBox& box, ImVec2 at);
  /// Adds a mark and does not grow. A filled rectangle lies under everything.
  void line(ImVec2 from, ImVec2 to, ImU32 colour, float thickness);
  void rect(MarkKind kind, ImVec2 from, ImVec2 to, ImU32 colour, float thickness);
  /// `at`: the left end of its line on the screen.
  void draw(ImDrawList* list, ImVec2 at) const;
};

MathBox text_box(const TextStyle& style, const std::string& words);
MathBox gap_box(float width);
/// Boxes side by side.
MathBox row_of(const std::vector<MathBox>& boxes);

/// The faces and colours of mathematics, and the size of a symbol in pixels.
struct MathStyle {
  const Fonts& fonts;
  const Theme& theme;
  float size = kBodySize;
};

/// Sets an expression as it is set in a book: italic symbols, raised and lowered indices, fractions, blocks
/// in brackets. A block has its rank's colour; a term of a sum is dashed, as everything Partial.
MathBox set_math(const MathStyle& style, const Math& expression);
/// A sign such as "=".
MathBox set_sign(const MathStyle& style, const std::string& sign);

}  // namespace shardlens::ui
