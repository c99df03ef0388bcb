// Derives matrix products: a linear layer forward, and its two gradients by the chain rule. Which factor is
// cut decides whether the result is made of blocks or is a sum of terms.
#include <fmt/format.h>

#include <utility>

#include "engine/derivation/deriver.h"
#include "engine/program/product.h"

namespace shardlens::formulas {
namespace {

Math factor(const Deriver& d, TensorId id, bool turned) {
  const Math whole = d.whole(id);
  return turned ? transposed(whole) : whole;
}

/// Says of each factor how it is cut: "G over its columns, Wproj over its rows".
std::string cuts_remark(const Deriver& d, const std::vector<TensorId>& factors) {
  std::string remark;
  for (const TensorId id : factors) {
    const Tensor& tensor = d.tensor(id);
    if (tensor.layout.kind != LayoutKind::Sharded) continue;
    remark += remark.empty() ? "cut: " : ", ";
    remark += fmt::format("{} over its {}", tensor.symbol,
                          tensor.layout.dim >= tensor.row_dims ? "columns" : "rows");
  }
  for (const TensorId id : factors) {
    const size_t pieces = placements(d.tensor(id), d.ranks(), 0).size();
    if (d.tensor(id).kind == MemoryKind::Weight && pieces > 1)
      return remark + (pieces == 3 ? "; a block has Q, K and V of its rank's heads"
                                   : "; a block has K and V of its rank's heads");
  }
  return remark;
}

Deriver::Remarks product_remarks(const Deriver& d, const Math& result, const Math& a, const Math& b) {
  Deriver::Remarks remarks;
  remarks.parts = cuts_remark(d, {a.tensor, b.tensor});
  remarks.each = "rank r: " + d.rank_sizes(result, {a, b});
  if (remarks.each.starts_with("rank r: rank 0")) remarks.each.erase(0, 8);
  remarks.first = d.sizes(result, {a, b});
  remarks.writes_terms = true;
  return remarks;
}

/// Y = X·W (+ b), then GeLU of it if the step does both.
void derive_linear(Deriver& d) {
  const Factors factors = factors_of(d.step());
  const TensorId bent = d.out(Operand::GeluInput), bias = d.in(Operand::Bias);
  const Math a = factor(d, d.in(factors.a), factors.a_turned);
  const Math b = factor(d, d.in(factors.b), factors.b_turned);
  const Math y = d.whole(bent != kNoTensor ? bent : d.out(Operand::Y));
  std::vector<Math> terms{product({a, b})};
  if (bias != kNoTensor) terms.push_back(d.whole(bias));
  Deriver::Remarks remarks = product_remarks(d, y, a, b);
  if (bias != kNoTensor) remarks.first += "; b is added to every row";
  if (bias != kNoTensor && d.is_cut(d.whole(bias))) remarks.each += "; its own part of b, so b is added once";
  d.with_ranks(y, sum(terms), remarks);
  if (bent == kNoTensor) return;
  d.with_ranks(d.whole(d.out(Operand::Y)), function("GeLU", {y}),
               {.first = "element by element", .each = "rank r: its own elements, nothing is sent"});
}

/// The product of the forward pass that a gradient goes back through.
struct ForwardProduct {
  std::string name;  ///< of its result, before a later bias or sum; GeLU's input if the step also bends it
  std::string bias;  ///< " + b" if the step adds it
};

ForwardProduct forward_product(const Deriver& d, TensorId weight, TensorId dy) {
  const Step* const step =
      weight == kNoTensor ? nullptr : d.forward_step(Op::Linear, Operand::Weight, weight);
  if (step == nullptr) return {d.without_d(dy), ""};
  const TensorId bent = output_of(d.program(), *step, Operand::GeluInput);
  const bool adds = input_of(d.program(), *step, Operand::Bias) != kNoTensor;
  return {d.tensor(bent != kNoTensor ? bent : step->outputs.front()).symbol, adds ? " + b" : ""};
}

std::string with_passed_on(const Deriver& d, std::string remark, TensorId dy, const std::string& of) {
  const std::string passed = d.passed_on(dy, of);
  return passed.empty() ? remark : remark + "; " + passed;
}

/// dX = dY·Wᵀ, with GeLU's derivative and the bias's gradient if the step does these too.
void derive_input_gradient(Deriver& d) {
  const Factors factors = factors_of(d.step());
  const TensorId dy = d.in(Operand::Dy), weight = d.in(Operand::Weight), bent = d.in(Operand::GeluInput);
  const Math w = factor(d, weight, factors.b_turned), dx = d.whole(d.out(Operand::Dx));
  const auto with_bend = [&](Math gradient) {
    if (bent == kNoTensor) return gradient;
    return entrywise({std::move(gradient), function("GeLU′", {d.whole(bent)})});
  };
  const std::string x = bent == kNoTensor ? d.without_d(dx.tensor) : "GeLU(" + d.tensor(bent).symbol + ")";
  const ForwardProduct y = forward_product(d, weight, dy);
  d.line(d.derivative(dx.tensor), with_bend(product({d.derivative(dy, y.name), w})),
         fmt::format("chain rule, because {} = {} · {}{}{}", y.name, x, d.tensor(weight).symbol,
                     factors.b_turned ? "" : "ᵀ", y.bias));
  Deriver::Remarks remarks = product_remarks(d, dx, d.whole(dy), w);
  remarks.first = with_passed_on(d, remarks.first, dy, y.name);
  d.with_ranks(dx, with_bend(product({d.whole(dy), w})), remarks);
  derive_bias_gradient(d, dx);
}

/// dW = Xᵀ·dY, added to what is there already, with the bias's gradient if the step does this too.
void derive_weight_gradient(Deriver& d) {
  const Factors factors = factors_of(d.step());
  const Math a = factor(d, d.in(factors.a), factors.a_turned);
  const Math b = factor(d, d.in(factors.b), factors.b_turned);
  const TensorId dy = d.in(Operand::Dy);
  const Math dw = d.whole(d.out(Operand::WeightGrad));
  const bool turned = d.step().attributes.transposed, adds = d.has(Operand::Previous);
  const Step* const sibling = d.forward_step(Op::LinearGradInput, Operand::Dy, dy);
  const TensorId weight = sibling == nullptr ? kNoTensor : input_of(d.program(), *sibling, Operand::Weight);
  const ForwardProduct y = forward_product(d, weight, dy);
  const Math of_y = d.derivative(dy, y.name);
  const Math chain = turned ? product({transposed(of_y), b}) : product({a, of_y});
  d.line(d.derivative(dw.tensor), chain,
         fmt::format("chain rule, because {} = {} · {}{}{}", y.name, d.tensor(d.in(Operand::X)).symbol,
                     d.without_d(dw.tensor), turned ? "ᵀ" : "", y.bias));
  std::vector<Math> terms{product({a, b})};
  if (adds) terms.insert(terms.begin(), d.whole(d.in(Operand::Previous)));
  Deriver::Remarks remarks = product_remarks(d, dw, a, b);
  remarks.first = with_passed_on(d, remarks.first, dy, y.name);
  if (adds) remarks.first += "; added to the gradient that is there";
  if (adds) remarks.relation = Relation::Assign;
  d.with_ranks(dw, sum(terms), remarks);
  derive_bias_gradient(d, d.whole(dy));
}

}  // namespace

void derive_bias_gradient(Deriver& d, const Math& of) {
  const TensorId id = d.out(Operand::BiasGrad);
  if (id == kNoTensor) return;
  const Math db = d.whole(id);
  const bool adds = d.has(Operand::Previous);
  std::vector<Math> terms{sum_over_rows("tokens", of)};
  if (adds) terms.insert(terms.begin(), d.whole(d.in(Operand::Previous)));
  const MatrixShape rows = shape_of(d.program(), of, 0);
  d.with_ranks(db, sum(terms),
               {.first = fmt::format("chain rule: b is added to each of the {} rows", rows.rows),
                .each = d.is_terms(db) ? "rank r: over its own tokens" : "rank r: its own columns",
                .relation = adds ? Relation::Assign : Relation::Equal});
}

void derive_product(Deriver& d) {
  switch (d.step().op) {
    case Op::LinearGradInput:
      return derive_input_gradient(d);
    case Op::LinearGradWeight:
      return derive_weight_gradient(d);
    default:
      return derive_linear(d);
  }
}

}  // namespace shardlens::formulas
