// What is written of an expression: which blocks, which brackets, which sub- and superscripts.
#include "engine/derivation/math.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace shardlens {
namespace {

constexpr int kMostShown = 4;  // blocks or terms that are all written

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

/// True if what follows the expression would seem to belong to its Σ.
bool ends_in_sum(const Math& math) {
  const bool reaches_on = math.kind == MathKind::Product || math.kind == MathKind::Entrywise;
  if (reaches_on) return ends_in_sum(math.parts.back());
  return math.kind == MathKind::Reduction || (math.kind == MathKind::RankSum && !math.written_out);
}

int64_t extent_of(const Program& program, const Extent& extent, const Math& symbol, int rank) {
  if (extent.tensor == kNoTensor) return extent.fixed;
  const Tensor& tensor = program.tensor(extent.tensor);
  const MatrixShape full = matrix_shape(tensor);
  const int64_t all = extent.rows ? full.rows : full.cols;
  const Layout& layout = tensor.layout;
  if (symbol.held == Held::Whole || symbol.held == Held::Replica || layout.dim < 0) return all;
  if ((layout.dim < tensor.row_dims) != extent.rows) return all;
  const int64_t cut = tensor.shape[static_cast<size_t>(layout.dim)];
  return cut == 0 ? 0 : all / cut * slice_of(layout, cut, program.tp(), rank).size();
}

}  // namespace

std::vector<int> shown_parts(const Math& many) {
  const int count = many.count == 0 ? static_cast<int>(many.parts.size()) : many.count;
  if (many.count > kMostShown) return {0, -1, count - 1};
  std::vector<int> shown(static_cast<size_t>(count));
  std::iota(shown.begin(), shown.end(), 0);
  return shown;
}

bool is_empty_block(const Math& many, int at) {
  return many.only != kEachRank && many.only != at * many.step;
}

Math for_rank(Math expression, int rank) {
  if (expression.kind == MathKind::Symbol && expression.held != Held::Whole && expression.rank == kEachRank)
    expression.rank = rank;
  if (expression.kind == MathKind::RankSum && expression.first == kEachRank) expression.first = rank;
  const bool names_its_own =
      expression.kind == MathKind::RankSum || (expression.kind == MathKind::Blocks && expression.count > 0);
  if (!names_its_own)
    for (Math& part : expression.parts) part = for_rank(std::move(part), rank);
  return expression;
}

Math part_at(const Math& many, int at) {
  if (many.count == 0) return many.parts[static_cast<size_t>(at)];
  const int first = many.kind == MathKind::RankSum ? std::max(many.first, 0) : 0;
  return for_rank(many.parts.front(), first + at * many.step);
}

bool needs_brackets(const Math& parent, size_t place) {
  const Math& part = parent.parts[place];
  const bool last = place + 1 == parent.parts.size();
  const bool adds = part.kind == MathKind::Sum || (part.kind == MathKind::RankSum && part.written_out);
  const bool sums = part.kind == MathKind::RankSum || part.kind == MathKind::Reduction;
  switch (parent.kind) {
    case MathKind::Product:
    case MathKind::Entrywise:
      if (adds || (sums && !last)) return true;
      return part.kind == (parent.kind == MathKind::Product ? MathKind::Entrywise : MathKind::Product);
    case MathKind::Sum:
      return (!last && ends_in_sum(part)) || (adds && parent.minus[place]);
    case MathKind::RankSum:
    case MathKind::Reduction:
      return part.kind == MathKind::Sum;
    case MathKind::Picked:
      return place == 0 && part.kind != MathKind::Symbol;
    default:
      return false;
  }
}

NameParts name_parts(const std::string& name) {
  NameParts parts;
  std::string rest = name;
  if (name.starts_with("d[") && name.back() == ']') {
    parts = name_parts(name.substr(1));
    parts.d_outside = true;
    return parts;
  }
  if (name.size() > 2 && name.front() == '[' && name.back() == ']') {
    parts = name_parts(name.substr(1, name.size() - 2));
    parts.bracketed = true;
    return parts;
  }
  while (!rest.empty() && rest.back() == '\'') {
    ++parts.primes;
    rest.pop_back();
  }
  constexpr std::string_view kHat = "\u0302";
  if (rest.ends_with(kHat)) {
    parts.hat = true;
    rest.resize(rest.size() - kHat.size());
  }
  // "dW" is the gradient of W, "db" that of b; "do" would be a word.
  const auto starts_greek = [&] { return rest.size() > 1 && static_cast<unsigned char>(rest[1]) >= 0x80; };
  if (rest.size() > 1 && rest[0] == 'd' && (is_upper(rest[1]) || rest == "db" || starts_greek())) {
    parts.d = true;
    rest.erase(0, 1);
  }
  size_t upper = 0;
  while (upper < rest.size() && is_upper(rest[upper])) ++upper;
  const bool tail_is_small = std::all_of(rest.begin() + static_cast<std::ptrdiff_t>(upper), rest.end(),
                                         [](char c) { return is_lower(c) || (c >= '0' && c <= '9'); });
  if (upper > 0 && tail_is_small) {
    parts.base = rest.substr(0, upper);
    parts.sub = rest.substr(upper);
  } else {
    parts.base = rest;
    parts.compound = rest.find(", ") != std::string::npos;
    parts.upright = rest.size() > 1 && std::all_of(rest.begin(), rest.end(), [](char c) {
                      return is_lower(c) || c == ' ' || c == '-';
                    });
  }
  return parts;
}

std::string subscript_of(const Math& symbol) {
  std::string sub = name_parts(symbol.text).sub;
  if (symbol.held != Held::Block) return sub;
  const std::string rank = symbol.rank == kEachRank ? "r" : std::to_string(symbol.rank / symbol.copies);
  return sub.empty() ? rank : sub + "," + rank;
}

std::string superscript_of(const Math& symbol) {
  std::string super;
  if (symbol.held == Held::Term || symbol.held == Held::Replica) {
    const char* const letter = symbol.held == Held::Term ? "r" : "d";
    super = fmt::format("({})", symbol.rank == kEachRank ? letter : std::to_string(symbol.rank));
  }
  super += symbol.power;
  if (symbol.turned) super += "T";
  return super;
}

MatrixShape shape_of(const Program& program, const Math& symbol, int rank) {
  MatrixShape shape;
  shape.rows = extent_of(program, symbol.rows, symbol, rank);
  shape.cols = extent_of(program, symbol.cols, symbol, rank);
  if (symbol.turned) std::swap(shape.rows, shape.cols);
  return shape;
}

}  // namespace shardlens
