// Reads products out of a Program.
#include "engine/program/product.h"

#include <algorithm>

namespace shardlens {
namespace {

/// The dimensions of a matrix's rows or columns.
struct Dims {
  int first = 0, last = 0;
};
Dims dims_of(const Tensor& tensor, bool rows) {
  const int all = static_cast<int>(tensor.shape.size());
  return rows ? Dims{0, tensor.row_dims} : Dims{tensor.row_dims, all};
}

/// The tensor cut over its rows or columns. Three dimensions are Q, K and V, heads, and a head's features:
/// they are cut between heads.
Tensor cut_along(Tensor tensor, bool rows) {
  const Dims dims = dims_of(tensor, rows);
  tensor.layout = sharded(dims.last - dims.first == 3 ? dims.first + 1 : dims.first);
  return tensor;
}

/// The ranges that a rank holds of one column (`along_rows`) or of one row of a tensor.
std::vector<Range> held_along(const Tensor& tensor, int ranks, int rank, bool along_rows, int64_t at) {
  std::vector<Range> held;
  for (const Placement& piece : placements(tensor, ranks, rank)) {
    const Range& across = along_rows ? piece.cols : piece.rows;
    if (at >= across.begin && at < across.end) held.push_back(along_rows ? piece.rows : piece.cols);
  }
  return held;
}

std::vector<Range> common(const std::vector<Range>& a, const std::vector<Range>& b) {
  std::vector<Range> both;
  for (const Range& x : a)
    for (const Range& y : b) {
      const Range range{std::max(x.begin, y.begin), std::min(x.end, y.end)};
      if (range.size() > 0) both.push_back(range);
    }
  return both;
}

bool holds_element(const Tensor& tensor, int ranks, int rank, int64_t row, int64_t col) {
  const std::vector<Range> held = held_along(tensor, ranks, rank, false, row);
  return std::any_of(held.begin(), held.end(),
                     [col](const Range& range) { return col >= range.begin && col < range.end; });
}

}  // namespace

std::optional<Product> product_of(const Program& program, StepId id) {
  if (id < 0 || static_cast<size_t>(id) >= program.steps.size()) return std::nullopt;
  const Step& step = program.step(id);
  if (operation(step.op).kind != OpKind::Product) return std::nullopt;
  const Factors factors = factors_of(step);
  Product product;
  product.step = id;
  product.a = input_of(program, step, factors.a);
  product.b = input_of(program, step, factors.b);
  product.a_turned = factors.a_turned;
  product.b_turned = factors.b_turned;
  product.bias = input_of(program, step, Operand::Bias);
  product.is_added = step.attributes.accumulate;
  product.is_bent = input_of(program, step, Operand::GeluInput) != kNoTensor;
  const TensorId before_gelu = output_of(program, step, Operand::GeluInput);
  product.out = before_gelu != kNoTensor ? before_gelu : step.outputs.front();
  return product;
}

int64_t product_terms(const Program& program, const Product& product) {
  const MatrixShape a = matrix_shape(program.tensor(product.a));
  return product.a_turned ? a.rows : a.cols;
}

SumCut sum_cut(const Program& program, const Product& product) {
  const Tensor& out = program.tensor(product.out);
  if (program.tp() == 1) return SumCut::None;
  if (out.layout.kind == LayoutKind::Partial) return SumCut::Terms;
  return out.layout.kind == LayoutKind::Sharded ? SumCut::Whole : SumCut::None;
}

std::vector<Range> pairs_of(const Program& program, const Product& product, int rank, int64_t row,
                            int64_t col) {
  const int ranks = program.tp();
  if (!holds_element(program.tensor(product.out), ranks, rank, row, col)) return {};
  return common(held_along(program.tensor(product.a), ranks, rank, product.a_turned, row),
                held_along(program.tensor(product.b), ranks, rank, !product.b_turned, col));
}

std::vector<Range> pairs_if_cut(const Program& program, const Product& product, SumCut cut, int rank,
                                int64_t row, int64_t col) {
  const int ranks = program.tp();
  if (cut == SumCut::Terms)
    return held_along(cut_along(program.tensor(product.a), product.a_turned), ranks, rank, product.a_turned,
                      row);
  const bool makes = cut == SumCut::None ||
                     holds_element(cut_along(program.tensor(product.out), false), ranks, rank, row, col);
  return makes ? std::vector<Range>{{0, product_terms(program, product)}} : std::vector<Range>{};
}

StepId conversion_after(const Program& program, TensorId out) {
  for (const StepId reader : consumers_of(program, out))
    if (is_conversion(program.step(reader).op)) return reader;
  return -1;
}

StepId next_bend(const Program& program, TensorId tensor) {
  const std::vector<StepId> readers = consumers_of(program, tensor);
  for (const StepId reader : readers) {
    const Step& step = program.step(reader);
    if (step.phase != program.step(readers.front()).phase) break;
    const bool is_linear = is_conversion(step.op) || step.op == Op::BiasAdd || step.op == Op::Add ||
                           step.op == Op::Join || step.op == Op::Dropout;
    if (!is_linear) return reader;
    if (const StepId bend = next_bend(program, step.outputs.front()); bend >= 0) return bend;
  }
  return -1;
}

}  // namespace shardlens
