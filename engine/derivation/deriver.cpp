// Finds the ranks' parts of expressions in the tensors' layouts, and writes lines.
#include "engine/derivation/deriver.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shardlens::formulas {
namespace {

/// How the ranks hold a matrix.
struct Parts {
  bool terms = false;   ///< each has a term
  bool blocks = false;  ///< each has a slice
  bool column = false;  ///< the slices lie one below the other
  bool largest = false;
  int copies = 1;
};

bool lies_along(const Tensor& tensor, bool rows) {
  return tensor.layout.dim >= 0 && (tensor.layout.dim < tensor.row_dims) == rows;
}

Parts parts_of_symbol(const Program& program, const Math& symbol) {
  Parts parts;
  for (const bool rows : {true, false}) {
    const Extent& extent = rows ? symbol.rows : symbol.cols;
    if (extent.tensor == kNoTensor) continue;
    const Tensor& tensor = program.tensor(extent.tensor);
    if (lies_along(tensor, extent.rows)) {
      parts.blocks = true;
      parts.column = rows != symbol.turned;
      parts.copies = tensor.layout.copies;
    }
    if (symbol.tensor == kNoTensor || tensor.layout.kind != LayoutKind::Partial) continue;
    parts.terms = true;
    parts.largest = tensor.layout.reduction == Reduction::Max;
  }
  return parts;
}

/// An equation with more symbols is written for rank r alone, not as blocks.
constexpr int kMostSymbols = 3;
int symbols_in(const Math& math) {
  int count = math.kind == MathKind::Symbol ? 1 : 0;
  for (const Math& part : math.parts) count += symbols_in(part);
  return count;
}

std::string shape_text(const MatrixShape& shape) {
  return fmt::format("{}\u00D7{}", shape.rows, shape.cols);
}

}  // namespace

Math Deriver::whole(TensorId id) const {
  Math symbol = named(tensor(id).symbol, id);
  symbol.tensor = id;
  return symbol;
}

Math Deriver::named(const std::string& name, TensorId like) const {
  return named(name, rows_of(like), cols_of(like));
}

Math Deriver::named(const std::string& name, Extent rows, Extent cols) {
  Math symbol = made(MathKind::Symbol, {}, name);
  symbol.rows = rows;
  symbol.cols = cols;
  return symbol;
}

std::string Deriver::without_d(TensorId gradient) const {
  const std::string& name = tensor(gradient).symbol;
  return name.size() > 1 && name.front() == 'd' ? name.substr(1) : name;
}

Math Deriver::derivative(TensorId gradient) const {
  return derivative(gradient, without_d(gradient));
}

Math Deriver::derivative(TensorId dy, const std::string& of) const {
  Math symbol = whole(dy);
  symbol.gradient = true;
  symbol.text = of;
  return symbol;
}

std::string Deriver::passed_on(TensorId dy, const std::string& of) const {
  const std::string& name = tensor(dy).symbol;
  if (name == "d" + of) return {};
  if (name == "[d" + of + "]") return "rounded to integers";
  return fmt::format("{} is ∂L/∂{}: sums pass it on", name, of);
}

const Step* Deriver::forward_step(Op op, Operand operand, TensorId id) const {
  for (const Step& step : program_.steps)
    if (step.op == op && input_of(program_, step, operand) == id) return &step;
  return nullptr;
}

Math Deriver::for_each_rank(Math expression) const {
  if (expression.kind == MathKind::Symbol && expression.held == Held::Whole) {
    const Parts parts = parts_of_symbol(program_, expression);
    expression.held = parts.terms ? Held::Term : parts.blocks ? Held::Block : Held::Whole;
    expression.copies = parts.copies;
  }
  for (Math& part : expression.parts) part = for_each_rank(std::move(part));
  return expression;
}

bool Deriver::is_cut(const Math& whole) const {
  const Parts parts = parts_of_symbol(program_, whole);
  return parts.terms || parts.blocks;
}

bool Deriver::is_terms(const Math& whole) const {
  return parts_of_symbol(program_, whole).terms;
}

Math Deriver::parts_of(const Math& whole, Math each) const {
  const Parts parts = parts_of_symbol(program_, whole);
  if (parts.terms) {
    Math terms = rank_sum(std::move(each));
    terms.largest = parts.largest;
    terms.count = parts.blocks ? parts.copies : ranks();
    terms.written_out = parts.blocks;
    terms.first = parts.blocks ? kEachRank : 0;
    each = std::move(terms);
  }
  if (!parts.blocks) return each;
  Math blocks = made(MathKind::Blocks, {std::move(each)});
  blocks.column = parts.column;
  blocks.count = ranks() / parts.copies;
  blocks.step = parts.copies;
  return blocks;
}

Math Deriver::rank_sum(Math each) const {
  Math terms = made(MathKind::RankSum, {std::move(each)});
  terms.count = ranks();
  return terms;
}

Math Deriver::only_part_of(const Math& whole, int rank) const {
  Math parts = parts_of(whole, for_each_rank(whole));
  if (parts.kind == MathKind::Blocks) parts.only = rank / parts.step * parts.step;
  if (parts.kind == MathKind::RankSum || parts.kind == MathKind::Symbol)
    return for_rank(for_each_rank(whole), rank);
  return parts;
}

Math Deriver::in_parts(const Math& expression) const {
  if (expression.kind == MathKind::Symbol && expression.held == Held::Whole)
    return parts_of(expression, for_each_rank(expression));
  Math result = expression;
  for (Math& part : result.parts) part = in_parts(part);
  return result;
}

void Deriver::line(Math left, Math right, std::string remark, Relation relation) {
  lines_.push_back({{std::move(left)}, relation, std::move(right), std::move(remark)});
}

void Deriver::next(Math right, std::string remark, Relation relation) {
  lines_.push_back({{}, relation, std::move(right), std::move(remark)});
}

std::string Deriver::same_if_whole(const Math& left, const std::string& remark) const {
  if (ranks() == 1 || is_cut(left)) return remark;
  return remark.empty() ? "the same on every rank" : remark + ", the same on every rank";
}

void Deriver::with_ranks(const Math& left, const Math& right, const Remarks& remarks) {
  line(left, right, same_if_whole(left, remarks.first), remarks.relation);
  ranks_of(left, right, remarks);
}

void Deriver::ranks_of(const Math& left, const Math& right, const Remarks& remarks) {
  if (ranks() == 1) return;
  const Math on_rank = for_each_rank(right);
  if (!is_cut(left)) {  // only a planted mistake makes a whole of parts
    if (on_rank != right) next(on_rank, "what rank r computes: it has only its own part", Relation::NotEqual);
    return;
  }
  const Math parts = in_parts(right), each = parts_of(left, on_rank),
             own = parts_of(left, for_each_rank(left));
  const bool large = symbols_in(right) > kMostSymbols && !is_terms(left);
  if (large) {
    line(for_each_rank(left), on_rank, remarks.each);
  } else {
    if (parts != right && parts != each && symbols_in(right) <= kMostSymbols) next(parts, remarks.parts);
    if (each != own) next(each, remarks.each, remarks.for_ranks);
    if (remarks.writes_terms && each.kind == MathKind::RankSum) {
      Math terms = each;
      terms.written_out = true;
      next(std::move(terms));
    }
  }
  const Layout& layout = tensor(left.tensor).layout;
  const std::string held = layout.kind == LayoutKind::Sharded ? "a block on each rank"
                           : layout.reduction == Reduction::Max
                               ? "a largest on each rank"
                               : "full shape on each rank, a term of the sum";
  const std::string remark = fmt::format("{}: {}", to_string(layout), held);
  large ? line(left, own, remark) : next(own, remark);
}

std::string Deriver::size(const Math& symbol) const {
  return shape_text(shape_of(program_, symbol, 0));
}

std::string Deriver::sizes(const Math& result, const std::vector<Math>& factors) const {
  std::string text;
  for (const Math& factor : factors) text += (text.empty() ? "" : " \u00B7 ") + size(factor);
  return text + " = " + size(result);
}

std::string Deriver::rank_sizes(const Math& result, const std::vector<Math>& factors) const {
  const auto text_on = [&](int rank) {
    std::string text;
    for (const Math& factor : factors)
      text += (text.empty() ? "" : " \u00B7 ") + shape_text(shape_of(program_, for_each_rank(factor), rank));
    return text + " = " + shape_text(shape_of(program_, for_each_rank(result), rank));
  };
  const std::string first = text_on(0);
  for (int rank = 1; rank < ranks(); ++rank)
    if (text_on(rank) != first) return "rank 0: " + first;
  return first;
}

TensorId terms_before(const Program& program, TensorId tensor) {
  while (tensor != kNoTensor) {
    if (program.tensor(tensor).layout.kind == LayoutKind::Partial) return tensor;
    const StepId writer = producer_of(program, tensor);
    if (writer < 0) return kNoTensor;
    const Step& step = program.step(writer);
    if (!is_conversion(step.op) && step.op != Op::BiasAdd) return kNoTensor;
    tensor = step.inputs[0];
  }
  return kNoTensor;
}

}  // namespace shardlens::formulas
