// Writes expressions as one line of plain text, with Unicode's sub- and superscripts.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/words.h"
#include "engine/derivation/math.h"

namespace shardlens {
namespace {

constexpr Word<Relation> kSignsInText[] = {{Relation::None, ""},
                                           {Relation::Equal, "="},
                                           {Relation::NotEqual, "≠"},
                                           {Relation::Becomes, "→"},
                                           {Relation::Assign, "←"}};

/// A number, r or d in small characters below or above the line.
std::string small(const std::string& text, bool below) {
  static const char* const kBelow[] = {"₀", "₁", "₂", "₃", "₄", "₅", "₆", "₇", "₈", "₉"};
  static const char* const kAbove[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string result;
  for (const char c : text) {
    if (c >= '0' && c <= '9')
      result += (below ? kBelow : kAbove)[c - '0'];
    else if (c == 'r')
      result += below ? "ᵣ" : "ʳ";
    else if (c == 'd')
      result += "ᵈ";
    else if (c == 'T')
      result += "ᵀ";
    else if (c == 'n')
      result += "ⁿ";
    else
      result += c == '(' ? "⁽" : "⁾";
  }
  return result;
}

std::string symbol_text(const Math& symbol) {
  std::string text = symbol.gradient ? "∂L/∂" + symbol.text : symbol.text;
  if (name_parts(symbol.text).compound) text = "(" + text + ")";
  if (symbol.held == Held::Block)
    text += small(symbol.rank == kEachRank ? "r" : std::to_string(symbol.rank / symbol.copies), true);
  return text + small(superscript_of(symbol), false);
}

std::string text_of_part(const Math& parent, size_t place) {
  const std::string text = to_text(parent.parts[place]);
  return needs_brackets(parent, place) ? "(" + text + ")" : text;
}

std::string text_joined(const Math& parent, const std::string& sign) {
  std::string text;
  for (size_t at = 0; at < parent.parts.size(); ++at)
    text += (at == 0 ? "" : sign) + text_of_part(parent, at);
  return text;
}

std::string sum_text(const Math& sum) {
  std::string text;
  for (size_t at = 0; at < sum.parts.size(); ++at) {
    const char* const sign = sum.minus[at] ? " − " : " + ";
    text += (at == 0 ? (sum.minus[at] ? "−" : "") : sign) + text_of_part(sum, at);
  }
  return text;
}

/// The blocks or terms that are written; dots between the first and the last.
std::vector<std::string> texts_of_parts(const Math& many, const std::string& dots) {
  std::vector<std::string> parts;
  for (const int at : shown_parts(many))
    parts.push_back(at < 0 ? dots : is_empty_block(many, at) ? "–" : to_text(part_at(many, at)));
  return parts;
}

std::string blocks_text(const Math& blocks) {
  const std::vector<std::string> parts = texts_of_parts(blocks, "…");
  const bool long_parts = std::any_of(parts.begin(), parts.end(), [](const std::string& part) {
    return part.find(' ') != std::string::npos;
  });
  return fmt::format("[{}]", fmt::join(parts, blocks.column ? "; " : long_parts ? " | " : " "));
}

std::string rank_sum_text(const Math& sum) {
  if (sum.written_out) return fmt::format("{}", fmt::join(texts_of_parts(sum, "…"), " + "));
  const bool over_replicas = sum.text == "d";
  return fmt::format("{}{} {}", sum.largest ? "max" : "Σ", over_replicas ? "ᵈ" : "ᵣ", text_of_part(sum, 0));
}

std::string quotient_side(const Math& side) {
  const bool is_one =
      side.kind == MathKind::Symbol || side.kind == MathKind::Number || side.kind == MathKind::Function;
  return is_one ? to_text(side) : "(" + to_text(side) + ")";
}

}  // namespace

std::string to_text(const Math& e) {
  switch (e.kind) {
    case MathKind::Symbol:
      return symbol_text(e);
    case MathKind::Number:
    case MathKind::Words:
      return e.text;
    case MathKind::Product:
      return text_joined(e, " · ");
    case MathKind::Entrywise:
      return text_joined(e, " ∘ ");
    case MathKind::Sum:
      return sum_text(e);
    case MathKind::Quotient:
      if (e.slanted) return to_text(e.parts[0]) + " / " + to_text(e.parts[1]);
      return quotient_side(e.parts[0]) + " / " + quotient_side(e.parts[1]);
    case MathKind::Function:
      if (e.text == "√" && e.parts[0].kind == MathKind::Number) return "√" + e.parts[0].text;
      return fmt::format("{}({})", e.text, text_joined(e, ", "));
    case MathKind::Picked:
      return fmt::format("{}[{}]", text_of_part(e, 0), to_text(e.parts[1]));
    case MathKind::Blocks:
      return blocks_text(e);
    case MathKind::RankSum:
      return rank_sum_text(e);
    case MathKind::Reduction:
      return fmt::format("{} {} {}", e.largest ? "max" : "Σ", e.text, text_of_part(e, 0));
  }
  return {};
}

std::string to_text(Relation relation) {
  return word_of(kSignsInText, relation);
}

}  // namespace shardlens
