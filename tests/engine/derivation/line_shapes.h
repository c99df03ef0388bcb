// The shapes on both sides of a derivation's lines, computed from the plan's placements and not from what the
// derivation says of them.
#pragma once

#include <fmt/format.h>

#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/derivation/derivation.h"

namespace shardlens::testing {

struct Sized {
  int64_t rows = 1, cols = 1;
  bool operator==(const Sized&) const = default;
};

inline std::string text_of(const Sized& sized) {
  return fmt::format("{}x{}", sized.rows, sized.cols);
}

/// Says what a line has wrong.
struct Untrue : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The rows or columns that a rank holds of a tensor, counted in its placements.
inline int64_t held(const Program& program, const Tensor& tensor, bool rows, int rank) {
  std::map<int64_t, int64_t> pieces;
  for (const Placement& piece : placements(tensor, program.tp(), rank)) {
    const Range& range = rows ? piece.rows : piece.cols;
    pieces[range.begin] = range.size();
  }
  return std::accumulate(pieces.begin(), pieces.end(), int64_t{0},
                         [](int64_t sum, const auto& piece) { return sum + piece.second; });
}

class Shapes {
 public:
  Shapes(const Program& program, int rank) : program_(program), rank_(rank) {}

  /// Throws Untrue.
  Sized of(const Math& e) const {
    switch (e.kind) {
      case MathKind::Symbol:
        return of_symbol(e);
      case MathKind::Number:
      case MathKind::Words:
        return {};
      case MathKind::Product:
        return of_product(e);
      case MathKind::Entrywise:
      case MathKind::Sum:
      case MathKind::Quotient:
      case MathKind::Function:
        return broadcast(e);
      case MathKind::Picked:
        return {of(e.parts[1]).rows, of(e.parts[0]).cols};
      case MathKind::Blocks:
        return of_blocks(e);
      case MathKind::RankSum:
        return of_rank_sum(e);
      case MathKind::Reduction: {
        const Sized from = of(e.parts[0]);
        if (e.over == Over::List) return from;
        return {e.over == Over::Columns ? from.rows : 1, e.over == Over::Rows ? from.cols : 1};
      }
    }
    throw Untrue("unknown kind");
  }

 private:
  int64_t extent(const Extent& extent, const Math& symbol) const {
    if (extent.tensor == kNoTensor) return extent.fixed;
    const Tensor& tensor = program_.tensor(extent.tensor);
    const MatrixShape full = matrix_shape(tensor);
    const int64_t all = extent.rows ? full.rows : full.cols;
    if (symbol.held == Held::Whole || symbol.held == Held::Replica) return all;
    const int rank = symbol.rank == kEachRank ? rank_ : symbol.rank;
    // A rank may hold nothing of the cut side; the other side is whole.
    const bool is_cut = tensor.layout.dim >= 0 && (tensor.layout.dim < tensor.row_dims) == extent.rows;
    return is_cut ? held(program_, tensor, extent.rows, rank) : all;
  }

  Sized of_symbol(const Math& e) const {
    Sized sized{extent(e.rows, e), extent(e.cols, e)};
    if (e.turned) std::swap(sized.rows, sized.cols);
    return sized;
  }

  Sized of_product(const Math& e) const {
    std::optional<Sized> sized;
    for (const Math& part : e.parts) {
      const Sized next = of(part);
      const Sized one{};
      if (!sized || *sized == one)
        sized = next;
      else if (next == one)
        continue;
      else if (sized->cols != next.rows)
        throw Untrue(text_of(*sized) + " by " + text_of(next) + " in " + to_text(e));
      else
        sized->cols = next.cols;
    }
    return sized.value();
  }

  Sized broadcast(const Math& e) const {
    Sized sized;
    for (const Math& part : e.parts) {
      const Sized next = of(part);
      const auto fits = [](int64_t a, int64_t b) { return a == b || a == 1 || b == 1; };
      if (!fits(sized.rows, next.rows) || !fits(sized.cols, next.cols))
        throw Untrue(text_of(sized) + " beside " + text_of(next) + " in " + to_text(e));
      if (sized.rows == 1) sized.rows = next.rows;
      if (sized.cols == 1) sized.cols = next.cols;
    }
    return sized;
  }

  Sized of_blocks(const Math& e) const {
    std::optional<Sized> sized;
    const int count = e.count > 0 ? e.count : static_cast<int>(e.parts.size());
    for (int at = 0; at < count; ++at) {
      const Sized next = of(part_at(e, at));
      if (!sized) {
        sized = next;
        continue;
      }
      if (e.column ? sized->cols != next.cols : sized->rows != next.rows)
        throw Untrue(text_of(next) + " does not fit " + text_of(*sized) + " in " + to_text(e));
      (e.column ? sized->rows : sized->cols) += e.column ? next.rows : next.cols;
    }
    return sized.value();
  }

  Sized of_rank_sum(const Math& e) const {
    std::set<std::pair<int64_t, int64_t>> shapes;
    Sized one;
    for (int at = 0; at < e.count; ++at) {
      one = of(part_at(e, at));
      shapes.insert({one.rows, one.cols});
    }
    if (shapes.size() != 1) throw Untrue("terms of several shapes in " + to_text(e));
    return one;
  }

  const Program& program_;
  int rank_;
};

/// Empty if every line has one shape on both sides.
inline std::string untruth_of(const Program& program, const Derivation& derivation) {
  for (int rank = 0; rank < program.tp(); ++rank) {
    const Shapes shapes(program, rank);
    std::optional<Sized> left;
    for (const DerivationLine& line : derivation.lines) {
      if (line.right.kind == MathKind::Words) continue;
      try {
        if (!line.left.empty()) left = shapes.of(line.left.front());
        const Sized right = shapes.of(line.right);
        if (right != left)
          return fmt::format("{} = {} in {}", text_of(left.value()), text_of(right), to_text(line.right));
      } catch (const Untrue& untrue) {
        return untrue.what();
      }
    }
  }
  return {};
}

}  // namespace shardlens::testing
