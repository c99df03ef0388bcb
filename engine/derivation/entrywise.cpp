// Derives what works on each element by itself: biases, GeLU, tanh, sums, dropout, rounding, and their
// gradients. Whether it may be done on the terms of a sum depends on its being linear.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "engine/derivation/deriver.h"
#include "engine/program/shown_name.h"

namespace shardlens::formulas {
namespace {

constexpr const char* kOwnElements = "rank r: its own elements, nothing is sent";

/// f(Σ terms) is not Σ f(terms): why the sum comes before a curve.
void say_why_sum_first(Deriver& d, TensorId input, const std::string& curve) {
  const TensorId terms = terms_before(d.program(), input);
  if (terms == kNoTensor || d.ranks() == 1) return;
  const Math whole = d.whole(terms);
  const Math on_term = function(curve, {d.for_each_rank(whole)});
  d.line(function(curve, {d.in_parts(whole)}), d.parts_of(whole, on_term),
         fmt::format("{} of a sum is not the sum of the {}s: the terms are added before", curve, curve),
         Relation::NotEqual);
}

void derive_curve(Deriver& d, TensorId input, const std::string& curve) {
  const Math y = d.whole(d.out(Operand::Y)), x = d.whole(input);
  d.with_ranks(
      y, function(curve, {x}),
      {.first = "element by element",
       .each = d.is_terms(y) ? "rank r bends its own term, and that is something else" : kOwnElements,
       .for_ranks = d.is_terms(y) ? Relation::NotEqual : Relation::Equal});
  if (!d.is_terms(y)) say_why_sum_first(d, input, curve);
}

/// GeLU as the Program's kernels compute it.
void say_gelu(Deriver& d) {
  const Math x = Deriver::named("x", fixed(1), fixed(1));
  const auto root = [](Math of) { return function("√", {std::move(of)}); };
  Math curve = function("erf", {quotient(x, root(number("2")))});
  if (d.step().attributes.activation == Activation::GeluTanh) {
    const Math cubic = sum({x, product({number("0.044715"), to_power(x, "3")})});
    curve = function("tanh", {product({root(quotient(number("2"), number("π"))), cubic})});
  }
  d.line(function("GeLU", {x}), product({number("0.5"), x, sum({number("1"), curve})}), "of each element x");
}

void derive_gelu_gradient(Deriver& d) {
  const TensorId h = d.in(Operand::GeluInput), dy = d.in(Operand::Dy);
  const Math dx = d.whole(d.out(Operand::Dx));
  const Math bend = function("GeLU′", {d.whole(h)});
  d.line(d.derivative(dx.tensor), entrywise({d.derivative(dy), bend}),
         fmt::format("chain rule, because {} = GeLU({})", d.without_d(dy), d.tensor(h).symbol));
  d.with_ranks(dx, entrywise({d.whole(dy), bend}), {.first = "element by element", .each = kOwnElements});
  derive_bias_gradient(d, dx);
}

void derive_tanh_gradient(Deriver& d) {
  const TensorId y = d.in(Operand::Y), dy = d.in(Operand::Dy);
  const Math dx = d.whole(d.out(Operand::Dx));
  const Math slope = difference(number("1"), entrywise({d.whole(y), d.whole(y)}));
  d.line(d.derivative(dx.tensor), entrywise({d.derivative(dy), slope}),
         fmt::format("chain rule, because {} = tanh(…), and tanh′ = 1 − tanh²", d.tensor(y).symbol));
  d.with_ranks(dx, entrywise({d.whole(dy), slope}), {.first = "element by element", .each = kOwnElements});
}

void derive_bias_add(Deriver& d) {
  const TensorId x = d.in(Operand::X), bias = d.in(Operand::Bias), addend = d.in(Operand::Addend);
  const Math y = d.whole(d.out(Operand::Y));
  std::vector<Math> terms{d.whole(x), d.whole(bias)};
  if (addend != kNoTensor) terms.insert(terms.begin(), d.whole(addend));
  Deriver::Remarks remarks{
      .first = fmt::format("b is added to each of the {} rows", shape_of(d.program(), y, 0).rows),
      .each = d.is_cut(d.whole(bias)) ? "rank r: its own columns, with its part of b"
                                      : "rank r: its own tokens, with all of b"};
  const bool on_terms = d.is_terms(y);
  if (on_terms) {  // planted: a bias before the sum
    remarks.for_ranks = d.step().attributes.one_rank ? Relation::Equal : Relation::NotEqual;
    remarks.each = d.step().attributes.one_rank
                       ? "b on rank 0 alone, so the sum has it once"
                       : fmt::format("every rank adds b: the sum has it {} times", d.ranks());
  }
  d.with_ranks(y, sum(terms), remarks);
  const TensorId before = terms_before(d.program(), x);
  if (on_terms || before == kNoTensor || d.ranks() == 1) return;
  const Math whole = d.whole(before), b = d.whole(bias);
  if (d.is_cut(b)) return;
  d.line(d.parts_of(whole, sum({d.for_each_rank(whole), b})),
         sum({d.in_parts(whole), product({number(std::to_string(d.ranks())), b})}),
         fmt::format("added to the terms, b would count {} times: so it is added after the sum", d.ranks()));
}

void derive_add(Deriver& d) {
  const Math y = d.whole(d.out(Operand::Y)), x = d.whole(d.in(Operand::X)),
             addend = d.whole(d.in(Operand::Addend));
  const bool backward = d.step().phase == Phase::Backward;
  const Tensor& result = d.tensor(y.tensor);
  const bool adds_to =
      reads_alike(result, d.tensor(x.tensor)) || reads_alike(result, d.tensor(addend.tensor));
  d.with_ranks(y, sum({x, addend}),
               {.first = backward ? "read twice: the two gradients add up" : "element by element",
                .each = d.is_terms(y) ? "a sum can be added term by term" : kOwnElements,
                .relation = adds_to ? Relation::Assign : Relation::Equal});
}

void derive_dropout(Deriver& d) {
  const Math x = d.whole(d.in(Operand::X)), y = d.whole(d.out(Operand::Y));
  const std::string p = fmt::format("{}", d.step().attributes.dropout);
  const MaskDraw draw = d.step().attributes.mask_draw;
  std::string first = fmt::format("an element of the mask is 0 with probability {}, else 1", p);
  if (d.tensor(x.tensor).kind == MemoryKind::ActivationGradient) first = "the mask of the forward pass again";
  if (draw == MaskDraw::OwnStreams) first = "every rank draws another mask";
  d.with_ranks(y, entrywise({x, quotient(d.named("mask", y.tensor), difference(number("1"), number(p)))}),
               {.first = first,
                .each = draw == MaskDraw::OneStream ? "every rank uses the mask of rank 0's part"
                                                    : "rank r: its part of one mask"});
}

}  // namespace

void derive_entrywise(Deriver& d) {
  switch (d.step().op) {
    case Op::Gelu:
      derive_curve(d, d.in(Operand::GeluInput), "GeLU");
      return say_gelu(d);
    case Op::GeluGrad:
      return derive_gelu_gradient(d);
    case Op::Tanh:
      return derive_curve(d, d.in(Operand::X), "tanh");
    case Op::TanhGrad:
      return derive_tanh_gradient(d);
    case Op::BiasAdd:
      return derive_bias_add(d);
    case Op::BiasGrad:
      return derive_bias_gradient(d, d.whole(d.in(Operand::Dy)));
    case Op::Add:
      return derive_add(d);
    case Op::Dropout:
      return derive_dropout(d);
    default:
      break;
  }
  const int limit = d.step().attributes.round_limit;  // Round
  d.with_ranks(d.whole(d.out(Operand::Y)), function("round", {d.whole(d.in(Operand::X))}),
               {.first = fmt::format("nearest integer, at most ±{}: sums of integers are exact", limit),
                .each = kOwnElements});
}

}  // namespace shardlens::formulas
