// Derives the optimizer: the gradients' norm, what they are multiplied by, and AdamW.
#include <fmt/format.h>

#include <string>

#include "engine/derivation/deriver.h"

namespace shardlens::formulas {
namespace {

constexpr size_t kMostGradients = 3;  // that are written

/// Σ over the elements of each gradient's squares.
Math squares_of(const Deriver& d, size_t gradients) {
  std::vector<Math> terms;
  for (size_t at = 0; at < gradients; ++at) {
    if (gradients > kMostGradients && at == 2) terms.push_back(number("…"));
    if (gradients > kMostGradients && at >= 2 && at + 1 < gradients) continue;
    const Math gradient = d.whole(d.step().inputs[at]);
    terms.push_back(sum_over_all("elements", entrywise({gradient, gradient})));
  }
  return sum(terms);
}

void derive_square_sum(Deriver& d) {
  const size_t gradients = d.step().inputs.size();
  const Math left = d.whole(d.out(Operand::Y));
  bool counts_twice = false;  // planted: a gradient that all ranks hold, in a sum over the ranks
  for (const TensorId id : d.step().inputs) counts_twice |= d.is_terms(left) && !d.is_cut(d.whole(id));
  d.with_ranks(left, squares_of(d, gradients),
               {.first = fmt::format("{} gradients", gradients),
                .each = counts_twice ? "a gradient that all ranks hold counts once for each rank"
                                     : "rank r: of its own slices",
                .for_ranks = counts_twice ? Relation::NotEqual : Relation::Equal});
}

void derive_clip(Deriver& d) {
  std::vector<Math> squares;
  Math scale;
  for (const TensorId id : d.step().inputs)
    (d.tensor(id).kind == MemoryKind::Input ? scale : squares.emplace_back()) = d.whole(id);
  const bool scaled = scale.kind == MathKind::Symbol;
  const Math norm = Deriver::named("n", fixed(1), fixed(1)), factor = Deriver::named("c", fixed(1), fixed(1));
  const Math root = function("√", {sum(squares)});
  d.line(norm, scaled ? quotient(root, scale) : root,
         squares.size() > 1 ? "the cut gradients' squares, and those of the whole ones" : "of all gradients");
  const double clip = d.program().settings.optimizer.clip;
  const Math limit = clip > 0
                         ? function("min", {number("1"), quotient(number(fmt::format("{}", clip)), norm)})
                         : number("1");
  d.line(factor, scaled ? quotient(limit, scale) : limit,
         scaled ? "also takes the loss scale back; 0 if a gradient is not finite"
                : d.same_if_whole(factor, "what every gradient is multiplied by"));
}

void derive_adamw(Deriver& d) {
  const OptimizerSettings& optimizer = d.program().settings.optimizer;
  const Math w = d.whole(d.has(Operand::Master) ? d.in(Operand::Master) : d.in(Operand::Parameter));
  const Math m = d.whole(d.in(Operand::FirstMoment)), v = d.whole(d.in(Operand::SecondMoment));
  const Math g = d.named("g", w.tensor), c = Deriver::named("c", fixed(1), fixed(1));
  const Math rate = Deriver::named("η", fixed(1), fixed(1));
  const auto decayed = [](double beta, const Math& old, const Math& fresh) {
    return sum({product({number(fmt::format("{}", beta)), old}),
                product({number(fmt::format("{:.6g}", 1 - beta)), fresh})});
  };
  const auto corrected = [](const Math& moment, double beta) {
    return quotient(
        moment,
        difference(number("1"), to_power(Deriver::named(fmt::format("{}", beta), fixed(1), fixed(1)), "n")));
  };
  d.line(g, product({c, d.whole(d.in(Operand::Gradient))}), "clipped");
  d.line(m, decayed(optimizer.beta1, m, g), "running mean of the gradient", Relation::Assign);
  d.line(v, decayed(optimizer.beta2, v, entrywise({g, g})), "running mean of its squares", Relation::Assign);
  const Math step = product(
      {rate, quotient(corrected(m, optimizer.beta1), sum({function("√", {corrected(v, optimizer.beta2)}),
                                                          number(fmt::format("{}", optimizer.epsilon))}))});
  const Math kept =
      d.step().attributes.decay && optimizer.weight_decay > 0
          ? product(
                {difference(number("1"), product({rate, number(fmt::format("{}", optimizer.weight_decay))})),
                 w})
          : w;
  d.line(w, difference(kept, step),
         d.step().attributes.decay ? "η: learning rate, n: number of the update; weights decay"
                                   : "η: learning rate, n: number of the update",
         Relation::Assign);
  const Math parameter = d.whole(d.out(Operand::Parameter));
  if (d.has(Operand::Master))
    d.line(parameter, function("round", {w}), "the 16-bit copy that products read", Relation::Assign);
  if (d.is_cut(parameter))
    d.line(parameter, d.in_parts(parameter), "each rank updates the slice that it holds, nothing is sent");
}

}  // namespace

void derive_update(Deriver& d) {
  switch (d.step().op) {
    case Op::SquareSum:
      return derive_square_sum(d);
    case Op::ClipFactor:
      return derive_clip(d);
    default:
      return derive_adamw(d);
  }
}

}  // namespace shardlens::formulas
