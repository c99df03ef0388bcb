// Writes expressions as LaTeX, in ASCII, with nothing beyond amsmath.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "engine/base/utf8.h"
#include "engine/base/words.h"
#include "engine/derivation/math.h"

namespace shardlens {
namespace {

constexpr Word<Relation> kSignsInLatex[] = {{Relation::None, ""},
                                            {Relation::Equal, "="},
                                            {Relation::NotEqual, "\\neq"},
                                            {Relation::Becomes, "\\to"},
                                            {Relation::Assign, "\\leftarrow"}};

/// What LaTeX calls a character in math mode.
constexpr std::pair<std::string_view, std::string_view> kMathNames[] = {
    {"γ", "\\gamma"},  {"β", "\\beta"},   {"μ", "\\mu"},        {"σ", "\\sigma"},     {"ε", "\\varepsilon"},
    {"η", "\\eta"},    {"λ", "\\lambda"}, {"Σ", "\\Sigma"},     {"×", "\\times"},     {"·", "\\cdot"},
    {"∘", "\\circ"},   {"−", "-"},        {"→", "\\to"},        {"←", "\\leftarrow"}, {"≠", "\\neq"},
    {"≈", "\\approx"}, {"≤", "\\leq"},    {"∂", "\\partial"},   {"√", "\\surd"},      {"²", "{}^{2}"},
    {"′", "{}'"},      {"ᵀ", "{}^{T}"},   {"∈", "\\in"},        {"⌊", "\\lfloor"},    {"⌋", "\\rfloor"},
    {"∞", "\\infty"},  {"…", "\\ldots"},  {"°", "{}^{\\circ}"}, {"≥", "\\geq"},       {"±", "\\pm"},
    {"π", "\\pi"},     {"⁻", "{}^{-}"}};

/// Characters that only text mode has.
constexpr std::pair<std::string_view, std::string_view> kTextNames[] = {
    {"–", "--"}, {"—", "---"}, {"“", "``"}, {"”", "''"}, {"’", "'"}, {"\u00A0", "~"}};

template <size_t N>
std::string_view named(const std::pair<std::string_view, std::string_view> (&names)[N],
                       std::string_view character) {
  for (const auto& [from, to] : names)
    if (from == character) return to;
  return {};
}

std::string escaped(char c) {
  switch (c) {
    case '\\':
      return "\\textbackslash{}";
    case '^':
      return "\\textasciicircum{}";
    case '~':
      return "\\textasciitilde{}";
    case '&':
    case '%':
    case '$':
    case '#':
    case '_':
    case '{':
    case '}':
      return std::string("\\") + c;
    default:
      return std::string(1, c);
  }
}

/// A name in math mode: letters as they are, others by their names.
std::string math_name(std::string_view name) {
  std::string text;
  while (!name.empty()) {
    const size_t bytes = std::max<size_t>(valid_character_bytes(name), 1);
    const std::string_view character = name.substr(0, bytes), known = named(kMathNames, character);
    if (bytes == 1)
      text += escaped(name[0]);
    else
      text += known.empty() ? "?" : std::string(known) + " ";
    name.remove_prefix(bytes);
  }
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

std::string symbol_latex(const Math& symbol) {
  const NameParts name = name_parts(symbol.text);
  std::string base = math_name(name.base);
  if (name.upright) base = "\\mathrm{" + latex_words(name.base) + "}";
  if (name.base.size() > 1 && !name.upright && base.find('\\') == std::string::npos)
    base = "\\mathit{" + base + "}";
  if (name.hat) base = "\\hat{" + base + "}";
  if (name.d) base = "d" + base;
  std::string sub = name.sub.empty() ? "" : "\\mathrm{" + name.sub + "}";
  if (symbol.held == Held::Block) {
    const std::string rank = symbol.rank == kEachRank ? "r" : std::to_string(symbol.rank / symbol.copies);
    sub += (sub.empty() ? "" : ",") + rank;
  }
  if (name.compound)
    base = "\\left(" + base + "\\right)";
  else if (base.find('^') != std::string::npos)
    base = "{" + base + "}";
  const bool turns_derivative = symbol.gradient && symbol.turned;
  Math upright = symbol;
  if (turns_derivative) upright.turned = false;
  std::string super = superscript_of(upright);
  for (int prime = 0; prime < name.primes; ++prime) super.insert(0, "\\prime ");
  std::string text = base;
  if (!sub.empty()) text += "_{" + sub + "}";
  if (!super.empty()) text += "^{" + super + "}";
  if (name.bracketed) text = (name.d_outside ? "d[" : "[") + text + "]";
  if (!symbol.gradient) return text;
  text = "\\frac{\\partial L}{\\partial " + text + "}";
  return turns_derivative ? "\\left(" + text + "\\right)^{T}" : text;
}

std::string part_latex(const Math& parent, size_t place) {
  const std::string text = to_latex(parent.parts[place]);
  return needs_brackets(parent, place) ? "\\left(" + text + "\\right)" : text;
}

std::string latex_joined(const Math& parent, std::string_view sign) {
  std::string text;
  for (size_t at = 0; at < parent.parts.size(); ++at) {
    if (at > 0) text += sign;
    text += part_latex(parent, at);
  }
  return text;
}

std::string sum_latex(const Math& sum) {
  std::string text;
  for (size_t at = 0; at < sum.parts.size(); ++at) {
    text += sum.minus[at] ? (at == 0 ? "-" : " - ") : (at == 0 ? "" : " + ");
    text += part_latex(sum, at);
  }
  return text;
}

std::string latex_of_parts(const Math& many, std::string_view between, std::string_view dots) {
  std::string text;
  for (const int at : shown_parts(many)) {
    if (!text.empty()) text += between;
    text += at < 0                     ? std::string(dots)
            : is_empty_block(many, at) ? "\\text{--}"
                                       : to_latex(part_at(many, at));
  }
  return text;
}

std::string blocks_latex(const Math& blocks) {
  return fmt::format(
      "\\begin{{bmatrix}} {} \\end{{bmatrix}}",
      blocks.column ? latex_of_parts(blocks, " \\\\ ", "\\vdots") : latex_of_parts(blocks, " & ", "\\cdots"));
}

std::string rank_sum_latex(const Math& sum) {
  if (sum.written_out) return latex_of_parts(sum, " + ", "\\cdots");
  const std::string index = sum.text == "d" ? "d" : "r";
  const std::string limits = fmt::format("_{{{}=0}}^{{{}}}", index, sum.count - 1);
  if (sum.largest) return fmt::format("\\max_{{{}}} {}", index, part_latex(sum, 0));
  return fmt::format("\\sum{} {}", limits, part_latex(sum, 0));
}

std::string function_latex(const Math& function) {
  if (function.text == "√") return "\\sqrt{" + latex_joined(function, ", ") + "}";
  std::string name = function.text;
  bool prime = false;
  if (constexpr std::string_view kPrime = "′"; name.ends_with(kPrime)) {
    name.resize(name.size() - kPrime.size());
    prime = true;
  }
  return fmt::format("\\operatorname{{{}}}{}\\left({}\\right)", latex_words(name), prime ? "'" : "",
                     latex_joined(function, ", "));
}

}  // namespace

std::string latex_words(const std::string& words) {
  std::string text;
  std::string_view rest = words;
  while (!rest.empty()) {
    const size_t bytes = std::max<size_t>(valid_character_bytes(rest), 1);
    const std::string_view character = rest.substr(0, bytes);
    if (constexpr std::string_view kHat = "x\u0302"; rest.starts_with(kHat)) {
      text += "$\\hat{x}$";
      rest.remove_prefix(kHat.size());
      continue;
    }
    if (bytes == 1)
      text += escaped(rest[0]);
    else if (const std::string_view word = named(kTextNames, character); !word.empty())
      text += word;
    else if (const std::string_view sign = named(kMathNames, character); !sign.empty())
      text += fmt::format("${}$", sign);
    else
      text += "?";
    rest.remove_prefix(bytes);
  }
  return text;
}

std::string to_latex(const Math& e) {
  switch (e.kind) {
    case MathKind::Symbol:
      return symbol_latex(e);
    case MathKind::Number:
      return math_name(e.text);
    case MathKind::Words:
      return "\\text{" + latex_words(e.text) + "}";
    case MathKind::Product:
      return latex_joined(e, " \\cdot ");
    case MathKind::Entrywise:
      return latex_joined(e, " \\circ ");
    case MathKind::Sum:
      return sum_latex(e);
    case MathKind::Quotient:
      if (e.slanted) return to_latex(e.parts[0]) + " / " + to_latex(e.parts[1]);
      return fmt::format("\\frac{{{}}}{{{}}}", to_latex(e.parts[0]), to_latex(e.parts[1]));
    case MathKind::Function:
      return function_latex(e);
    case MathKind::Picked:
      return fmt::format("{}[{}]", part_latex(e, 0), to_latex(e.parts[1]));
    case MathKind::Blocks:
      return blocks_latex(e);
    case MathKind::RankSum:
      return rank_sum_latex(e);
    case MathKind::Reduction:
      return fmt::format("\\{}_{{\\text{{{}}}}} {}", e.largest ? "max" : "sum", latex_words(e.text),
                         part_latex(e, 0));
  }
  return {};
}

std::string to_latex(Relation relation) {
  return word_of(kSignsInLatex, relation);
}

}  // namespace shardlens
