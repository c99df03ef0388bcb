// Sets expressions as mathematics.
#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/product/math_box.h"

namespace shardlens::ui {
namespace {

constexpr float kIndex = 0.66F;     // the size of sub- and superscripts
constexpr float kLimit = 0.58F;     // of what stands below and above a Σ
constexpr float kSigma = 1.4F;      // the size of a Σ
constexpr float kFraction = 0.86F;  // of what stands above and below a line
constexpr float kAxis = 0.28F;      // the height of a minus sign and of a fraction's line

class MathSetter {
 public:
  /// `in_term`: what it sets is dashed already, as a term of a sum.
  explicit MathSetter(const MathStyle& style, bool in_term = false) : style_(style), in_term_(in_term) {}

  MathBox set(const Math& e, float size) const {
    switch (e.kind) {
      case MathKind::Symbol:
        return in_term_ || e.held != Held::Term ? symbol(e, size) : dashed(symbol(e, size), size);
      case MathKind::Number:
        return text(style_.fonts.body, e.text, size);
      case MathKind::Words:
        return text(style_.fonts.body, e.text, size * 0.8F);
      case MathKind::Product:
        return joined(e, size);
      case MathKind::Entrywise:
        return joined(e, size);
      case MathKind::Sum:
        return sum(e, size);
      case MathKind::Quotient:
        if (e.slanted)
          return row_of({set(e.parts[0], size), text(style_.fonts.body, " / ", size), set(e.parts[1], size)});
        return quotient(e, size);
      case MathKind::Function:
        return function(e, size);
      case MathKind::Picked:
        return row_of({part(e, 0, size), text(style_.fonts.body, "[", size), set(e.parts[1], size),
                       text(style_.fonts.body, "]", size)});
      case MathKind::Blocks:
        return blocks(e, size);
      case MathKind::RankSum:
        return rank_sum(e, size);
      case MathKind::Reduction:
        return row_of({big(e.largest, e.text, "", size), gap_box(size * 0.18F), part(e, 0, size)});
    }
    return {};
  }

  MathBox text(ImFont* font, const std::string& words, float size, ImU32 colour = 0) const {
    return text_box({font, size, colour != 0 ? colour : style_.theme.text}, words);
  }

 private:
  using MarkKind = MathBox::MarkKind;

  /// What stands below and above a Σ is as legible in a fraction as elsewhere.
  float limit(float size) const { return std::max(size, style_.size) * kLimit; }

  float thin(float size) const { return std::max(1.0F, std::round(size * 0.06F)); }

  ImU32 ink_of(int rank) const { return style_.theme.rank_outlines[rank % 8]; }

  MathBox name(const NameParts& name, float size, ImU32 ink) const {
    MathBox box = text(name.upright ? style_.fonts.body : style_.fonts.italic, name.base, size, ink);
    if (name.hat) {
      const float middle = box.width / 2 + size * 0.06F, top = -size * 0.74F, half = size * 0.16F;
      box.line({middle - half, top + half * 0.8F}, {middle, top}, ink, thin(size));
      box.line({middle, top}, {middle + half, top + half * 0.8F}, ink, thin(size));
    }
    if (name.d) box = row_of({text(style_.fonts.italic, "d", size, ink), box});
    if (name.primes > 0) {
      MathBox all = box;
      all.place(text(style_.fonts.body, std::string(static_cast<size_t>(name.primes), '\''), size, ink),
                {box.width, 0});
      box = std::move(all);
    }
    return box;
  }

  MathBox symbol(const Math& e, float size) const {
    if (e.gradient) {
      Math below = e;
      below.gradient = below.turned = false;
      MathBox box = over_line(
          row_of({text(style_.fonts.italic, "\u2202L", size * kFraction)}),
          row_of({text(style_.fonts.italic, "\u2202", size * kFraction), symbol(below, size * kFraction)}),
          size);
      if (e.turned) box.place(text(style_.fonts.body, "T", size * kIndex), {box.width, -size * 0.7F});
      return box;
    }
    const bool of_rank = e.rank != kEachRank && e.held != Held::Whole && e.held != Held::Replica;
    const ImU32 ink = of_rank ? ink_of(e.rank) : style_.theme.text;
    const NameParts parts = name_parts(e.text);
    MathBox box = name(parts, size, ink);
    if (parts.compound) box = in_round(box, size);
    const float right = box.width + size * 0.04F;
    const std::string sub = subscript_of(e), super = superscript_of(e);
    if (!sub.empty()) box.place(text(style_.fonts.body, sub, size * kIndex, ink), {right, size * 0.18F});
    if (!super.empty()) box.place(text(style_.fonts.body, super, size * kIndex, ink), {right, -size * 0.36F});
    if (!parts.bracketed) return box;
    return row_of({text(style_.fonts.body, parts.d_outside ? "d[" : "[", size, ink), box,
                   text(style_.fonts.body, "]", size, ink)});
  }

  MathBox dashed(const MathBox& inner, float size) const {
    const float pad = size * 0.16F;
    MathBox box;
    box.place(inner, {pad, 0});
    box.width += pad;
    const float above = inner.above + pad * 0.2F, below = inner.below + pad * 0.4F;
    box.rect(MarkKind::Dashed, {0, -above}, {box.width, below}, style_.theme.communication, thin(size));
    box.above = above;
    box.below = below;
    return box;
  }

  /// A part of an expression, in brackets where it needs them.
  MathBox part(const Math& parent, size_t at, float size) const {
    MathBox box = set(parent.parts[at], size);
    return needs_brackets(parent, at) ? in_round(box, size) : box;
  }

  MathBox in_round(const MathBox& inner, float size) const {
    const float tall = std::max(size, inner.height() * 0.92F);
    const auto bracket = [&](const char* sign) {
      MathBox one = text(style_.fonts.body, sign, tall);
      MathBox box;
      box.place(one, {0, inner.below - one.below * 0.95F});
      return box;
    };
    MathBox all = row_of({bracket("("), inner, bracket(")")});
    all.above = std::max(inner.above, size * 0.8F);
    all.below = std::max(inner.below, size * 0.2F);
    return all;
  }

  /// Products are joined by a dot, entrywise ones by a ring.
  MathBox joined(const Math& e, float size) const {
    MathBox ring = gap_box(size * 0.22F);
    ring.place(text(style_.fonts.body, "\u00B0", size * 1.1F, style_.theme.dim),
               {size * 0.22F, size * 0.28F});
    ring.width += size * 0.2F;
    ring.above = ring.below = 0;
    std::vector<MathBox> boxes;
    for (size_t at = 0; at < e.parts.size(); ++at) {
      if (at > 0)
        boxes.push_back(e.kind == MathKind::Entrywise
                            ? ring
                            : text(style_.fonts.body, " \u00B7 ", size, style_.theme.dim));
      boxes.push_back(part(e, at, size));
    }
    return row_of(boxes);
  }

  MathBox sum(const Math& e, float size) const {
    std::vector<MathBox> boxes;
    for (size_t at = 0; at < e.parts.size(); ++at) {
      const char* const sign = e.minus[at] ? (at == 0 ? "\u2212" : " \u2212 ") : (at == 0 ? "" : " + ");
      if (*sign != 0) boxes.push_back(text(style_.fonts.body, sign, size, style_.theme.text));
      boxes.push_back(part(e, at, size));
    }
    return row_of(boxes);
  }

  MathBox over_line(const MathBox& above, const MathBox& below, float size) const {
    MathBox box;
    const float width = std::max(above.width, below.width) + size * 0.24F, axis = -size * kAxis;
    box.place(above, {(width - above.width) / 2, axis - size * 0.1F - above.below});
    box.place(below, {(width - below.width) / 2, axis + size * 0.1F + below.above});
    box.width = width;
    box.line({0, axis}, {width, axis}, style_.theme.text, thin(size));
    box.width += size * 0.08F;
    return box;
  }

  MathBox quotient(const Math& e, float size) const {
    return over_line(set(e.parts[0], size * kFraction), set(e.parts[1], size * kFraction), size);
  }

  MathBox function(const Math& e, float size) const {
    std::vector<MathBox> boxes;
    for (size_t at = 0; at < e.parts.size(); ++at) {
      if (at > 0) boxes.push_back(text(style_.fonts.body, ", ", size));
      boxes.push_back(set(e.parts[at], size));
    }
    const MathBox inner = row_of(boxes);
    if (e.text == "\u221A") return root(inner, size);
    std::string name = e.text;
    if (constexpr std::string_view kPrime = "\u2032"; name.ends_with(kPrime))
      name.replace(name.size() - kPrime.size(), kPrime.size(), "'");
    return row_of({text(style_.fonts.body, name, size), in_round(inner, size)});
  }

  MathBox root(const MathBox& inner, float size) const {
    const float left = size * 0.55F, top = -inner.above - size * 0.06F, bottom = inner.below;
    MathBox box;
    box.place(inner, {left, 0});
    const float thickness = thin(size);
    box.line({size * 0.08F, -size * 0.3F}, {size * 0.24F, bottom}, style_.theme.text, thickness);
    box.line({size * 0.24F, bottom}, {left - size * 0.06F, top}, style_.theme.text, thickness);
    box.line({left - size * 0.06F, top}, {box.width + size * 0.06F, top}, style_.theme.text, thickness);
    box.above = inner.above + size * 0.14F;
    box.width += size * 0.12F;
    return box;
  }

  /// Σ or max with what stands below and above it.
  MathBox big(bool largest, const std::string& below, const std::string& above, float size) const {
    const MathBox sign =
        largest ? text(style_.fonts.body, "max", size) : text(style_.fonts.body, "\u03A3", size * kSigma);
    const MathBox low = text(style_.fonts.body, below, limit(size), style_.theme.dim);
    const MathBox high = text(style_.fonts.body, above, limit(size), style_.theme.dim);
    const float width = std::max({sign.width, low.width, above.empty() ? 0 : high.width});
    const float drop = largest ? 0 : size * 0.22F;
    MathBox box;
    box.place(sign, {(width - sign.width) / 2, drop});
    const float foot = largest ? size * 0.1F : drop + size * 0.06F;
    if (!below.empty()) box.place(low, {(width - low.width) / 2, foot + low.above * 0.92F});
    const float head = drop - size * kSigma * 0.76F;
    if (!above.empty()) box.place(high, {(width - high.width) / 2, head - high.below * 0.6F});
    return box;
  }

  MathBox rank_sum(const Math& e, float size) const {
    const ImU32 dim = style_.theme.dim;
    if (!e.written_out) {
      const std::string index = e.text == "d" ? "d" : "r";
      const MathBox inner = MathSetter(style_, !e.largest).part(e, 0, size);
      const MathBox body = e.largest ? inner : dashed(inner, size);
      return row_of({big(e.largest, e.largest ? index : index + " = 0",
                         e.largest ? "" : std::to_string(e.count - 1), size),
                     gap_box(size * 0.2F), body});
    }
    std::vector<MathBox> boxes;
    for (const int at : shown_parts(e)) {
      if (!boxes.empty()) boxes.push_back(text(style_.fonts.body, " + ", size));
      boxes.push_back(at < 0 ? text(style_.fonts.body, "\u2026", size, dim)
                             : dashed(MathSetter(style_, true).set(part_at(e, at), size), size));
    }
    return row_of(boxes);
  }

  /// One block on a tint of its rank's colour.
  MathBox cell(const Math& blocks, int at, float size) const {
    const ImU32 dim = style_.theme.dim;
    if (at < 0) {
      if (!blocks.column) return text(style_.fonts.body, "\u2026", size, dim);
      MathBox dots;
      for (const float y : {-0.5F, -0.28F, -0.06F})
        dots.rect(MarkKind::Fill, {size * 0.04F, y * size}, {size * 0.13F, y * size + size * 0.09F}, dim, 0);
      dots.width = size * 0.17F;
      dots.above = size * 0.6F;
      dots.below = size * 0.1F;
      return dots;
    }
    if (is_empty_block(blocks, at)) return text(style_.fonts.body, "\u2013", size, style_.theme.faint);
    return set(part_at(blocks, at), size);
  }

  MathBox blocks(const Math& e, float size) const {
    const float pad = size * 0.22F, between = size * 0.16F, inset = size * 0.2F;
    const bool of_ranks = e.count > 0;
    const std::vector<int> shown = shown_parts(e);
    std::vector<MathBox> cells;
    float above = 0, below = 0, width = 0;
    for (const int at : shown) {
      cells.push_back(cell(e, at, size));
      above = std::max(above, cells.back().above);
      below = std::max(below, cells.back().below);
      width = std::max(width, cells.back().width);
    }
    MathBox inner;
    float x = inset, y = 0;
    for (size_t i = 0; i < cells.size(); ++i) {
      const MathBox& one = cells[i];
      const float up = e.column ? one.above : above, down = e.column ? one.below : below;
      const float wide = e.column ? width : one.width;
      const ImVec2 base{x + pad + (wide - one.width) / 2, e.column ? y + up : 0};
      inner.place(one, base);
      if (of_ranks && shown[i] >= 0) {
        const bool empty = is_empty_block(e, shown[i]);
        const int rank = shown[i] * e.step;
        const ImVec2 from{x, base.y - up - pad * 0.1F}, to{x + wide + 2 * pad, base.y + down + pad * 0.1F};
        if (!empty) inner.rect(MarkKind::Fill, from, to, faded(style_.theme.ranks[rank % 8], 0.22F), 0);
        inner.rect(MarkKind::Outline, from, to, empty ? style_.theme.line : ink_of(rank), thin(size));
      }
      inner.width = std::max(inner.width, x + wide + 2 * pad);
      if (e.column)
        y += up + down + between + pad * 0.2F;
      else
        x += wide + 2 * pad + between;
    }
    return in_square(inner, inset, size);
  }

  /// Square brackets, with the middle of what they hold on the axis.
  MathBox in_square(const MathBox& inner, float inset, float size) const {
    const float shift = -size * kAxis - (inner.below - inner.above) / 2;
    MathBox box;
    box.place(inner, {0, shift});
    box.width = inner.width + inset;
    box.above = inner.above - shift + size * 0.12F;
    box.below = inner.below + shift + size * 0.12F;
    const float tick = size * 0.16F, thickness = thin(size), top = -box.above, bottom = box.below;
    for (const bool left : {true, false}) {
      const float x = left ? size * 0.04F : box.width - size * 0.04F, to = left ? x + tick : x - tick;
      box.line({x, top}, {x, bottom}, style_.theme.text, thickness);
      box.line({x, top}, {to, top}, style_.theme.text, thickness);
      box.line({x, bottom}, {to, bottom}, style_.theme.text, thickness);
    }
    box.width += size * 0.04F;
    return box;
  }

  const MathStyle& style_;
  bool in_term_ = false;
};

}  // namespace

MathBox set_math(const MathStyle& style, const Math& expression) {
  return MathSetter(style).set(expression, style.size);
}

MathBox set_sign(const MathStyle& style, const std::string& sign) {
  return MathSetter(style).text(style.fonts.body, sign, style.size);
}

}  // namespace shardlens::ui
