// Derives LayerNorm and its gradient, for whole tokens and for tokens whose features are cut over the ranks.
#include <fmt/format.h>

#include <string>

#include "engine/derivation/deriver.h"

namespace shardlens::formulas {
namespace {

/// The symbols of a norm of the matrix X: mean and deviation of each token, and the normalized X.
struct NormSymbols {
  Math x, mean, deviation, normal, features;
};

NormSymbols symbols_of(const Deriver& d, TensorId x) {
  NormSymbols symbols;
  symbols.x = d.whole(x);
  symbols.mean = Deriver::named("μ", rows_of(x), fixed(1));
  symbols.deviation = Deriver::named("σ", rows_of(x), fixed(1));
  symbols.normal = d.named("x̂", x);
  symbols.features = number(std::to_string(shape_of(d.program(), symbols.x, 0).cols));
  return symbols;
}

/// The mean over the features of each token.
Math mean_of(const NormSymbols& n, const Math& of) {
  return product({quotient(number("1"), n.features), sum_over_columns("features", of)});
}

std::string features_remark(const NormSymbols& n) {
  return fmt::format("of each token, over its {} features", n.features.text);
}

Math squares(const Math& of) {
  return entrywise({of, of});
}

Math root_with_epsilon(const Math& variance) {
  return function("√", {sum({variance, number("ε")})});
}

void say_result(Deriver& d, const NormSymbols& n) {
  d.line(n.normal, quotient(difference(n.x, n.mean), n.deviation), "normalized");
  const Math y = d.whole(d.out(Operand::Y));
  d.with_ranks(y, sum({entrywise({n.normal, d.whole(d.in(Operand::Gamma))}), d.whole(d.in(Operand::Beta))}),
               {.first = "γ and β: a factor and an offset for each feature",
                .each = d.tensor(y.tensor).layout == sharded(1) ? "rank r: its own features"
                                                                : "rank r: its own tokens, whole"});
}

void normalize(Deriver& d) {
  const TensorId summed = d.out(Operand::Sum);
  if (summed != kNoTensor) {
    std::vector<Math> terms{d.whole(d.in(Operand::X)), d.whole(d.in(Operand::Addend))};
    if (d.has(Operand::Bias)) terms.push_back(d.whole(d.in(Operand::Bias)));
    d.line(d.whole(summed), sum(terms), "the residual sum comes first");
  }
  const NormSymbols n = symbols_of(d, summed != kNoTensor ? summed : d.in(Operand::X));
  d.line(n.mean, mean_of(n, n.x), features_remark(n));
  d.line(n.deviation, root_with_epsilon(mean_of(n, squares(difference(n.x, n.mean)))),
         fmt::format("ε = {}", d.step().attributes.epsilon));
  say_result(d, n);
}

/// The sums of rank r over its own features: Σx, and Σ(x − m)² about its own mean m.
struct OwnSums {
  Math sum, squares;
  Math features;  ///< how many it has
};
OwnSums own_sums(TensorId x) {
  OwnSums own{Deriver::named("a", rows_of(x), fixed(1)), Deriver::named("q", rows_of(x), fixed(1)),
              Deriver::named("h", fixed(1), fixed(1))};
  for (Math* const symbol : {&own.sum, &own.squares, &own.features}) symbol->held = Held::Block;
  return own;
}

std::string own_features_remark(const Deriver& d, const Math& x) {
  return fmt::format("h: a rank's features, {} on rank 0", shape_of(d.program(), d.for_each_rank(x), 0).cols);
}

void derive_sums(Deriver& d) {
  const Math x = d.whole(d.in(Operand::X)), x_r = d.for_each_rank(x);
  const OwnSums own = own_sums(x.tensor);
  Math sums = d.whole(d.out(Operand::Sums));
  sums.text = "S";
  d.line(x, d.in_parts(x), "each rank has some features of every token");
  d.line(own.sum, sum_over_columns("features", x_r), "rank r: over its own features");
  d.line(own.squares, sum_over_columns("features", squares(difference(x_r, quotient(own.sum, own.features)))),
         "about the rank's own mean; " + own_features_remark(d, x));
  d.line(sums, d.parts_of(sums, block_row({own.sum, own.squares})),
         fmt::format("two numbers a token from each rank: {}", d.size(sums)));
}

void derive_apply(Deriver& d) {
  const NormSymbols n = symbols_of(d, d.in(Operand::X));
  const OwnSums own = own_sums(n.x.tensor);
  if (d.step().attributes.own_columns) {  // planted
    d.line(n.mean, quotient(own.sum, own.features), "the mean of rank r's own features alone",
           Relation::NotEqual);
    return say_result(d, n);
  }
  const Math one_over = quotient(number("1"), n.features);
  const Math apart = difference(quotient(own.sum, own.features), n.mean);
  d.line(n.mean, product({one_over, d.rank_sum(own.sum)}),
         fmt::format("a: each rank's sum, of {} features together", n.features.text));
  d.line(n.deviation,
         root_with_epsilon(
             product({one_over, d.rank_sum(sum({own.squares, product({own.features, squares(apart)})}))})),
         "q: each rank's squares about its own mean; " + own_features_remark(d, n.x));
  say_result(d, n);
}

/// dγ and dβ, added to what is there.
void say_parameter_gradients(Deriver& d, const Math& dy, const Math& normal) {
  const Operand outs[] = {Operand::GammaGrad, Operand::BetaGrad};
  const Math rights[] = {sum_over_rows("tokens", entrywise({dy, normal})), sum_over_rows("tokens", dy)};
  const auto first_previous = input_place(d.program(), d.step(), Operand::Previous);
  for (size_t i = 0; i < 2; ++i) {
    const Math left = d.whole(d.out(outs[i]));
    std::vector<Math> terms{rights[i]};
    if (first_previous) terms.insert(terms.begin(), d.whole(d.step().inputs[*first_previous + i]));
    d.with_ranks(left, sum(terms),
                 {.first = i == 0 ? "γ multiplies every token" : "β is added to every token",
                  .each = d.is_terms(left) ? "rank r: over its own tokens" : "rank r: its own features",
                  .relation = first_previous ? Relation::Assign : Relation::Equal});
  }
}

Math scaled_gradient(const Deriver& d) {
  return d.named("g", d.in(Operand::Dy));
}

void say_scaled(Deriver& d) {
  d.line(scaled_gradient(d), entrywise({d.whole(d.in(Operand::Dy)), d.whole(d.in(Operand::Gamma))}),
         "chain rule through the factor γ");
}

/// x̂, μ and σ are those of the forward pass.
void say_normal(Deriver& d, const NormSymbols& n) {
  d.line(n.normal, quotient(difference(n.x, n.mean), n.deviation), "with μ and 1/σ of the forward pass");
}

void derive_norm_gradient(Deriver& d) {
  const NormSymbols n = symbols_of(d, d.in(Operand::X));
  const Math dy = d.whole(d.in(Operand::Dy)), g = scaled_gradient(d), dx = d.whole(d.out(Operand::Dx));
  say_normal(d, n);
  say_scaled(d);
  Math inner =
      difference(difference(g, mean_of(n, g)), entrywise({n.normal, mean_of(n, entrywise({g, n.normal}))}));
  std::vector<Math> terms{quotient(inner, n.deviation)};
  if (d.has(Operand::Addend)) terms.push_back(d.whole(d.in(Operand::Addend)));
  d.with_ranks(
      dx, sum(terms),
      {.first = "each feature also changes μ and σ of its token", .each = "rank r: its own tokens, whole"});
  say_parameter_gradients(d, dy, n.normal);
}

void derive_gradient_sums(Deriver& d) {
  const NormSymbols n = symbols_of(d, d.in(Operand::X));
  const Math g = scaled_gradient(d), sums = d.whole(d.out(Operand::GradSums));
  say_normal(d, n);
  say_scaled(d);
  Math named = sums;
  named.text = "S";
  d.with_ranks(
      named,
      block_row({sum_over_columns("features", g), sum_over_columns("features", entrywise({g, n.normal}))}),
      {.first = "two numbers a token", .each = "rank r: over its own features"});
  say_parameter_gradients(d, d.whole(d.in(Operand::Dy)), n.normal);
}

void derive_gradient_apply(Deriver& d) {
  const NormSymbols n = symbols_of(d, d.in(Operand::X));
  const Math g = scaled_gradient(d), dx = d.whole(d.out(Operand::Dx));
  const TensorId sums = d.in(Operand::GradSums);
  const Math first = Deriver::named("a", rows_of(sums), fixed(1));
  const Math second = Deriver::named("q", rows_of(sums), fixed(1));
  say_normal(d, n);
  say_scaled(d);
  const bool own = d.step().attributes.own_columns;
  const Relation relation = own ? Relation::NotEqual : Relation::Equal;
  d.line(first, sum_over_columns("features", own ? d.for_each_rank(g) : g),
         own ? "of rank r's own features alone" : "summed over the ranks before", relation);
  const Math both = entrywise({g, n.normal});
  d.line(second, sum_over_columns("features", own ? d.for_each_rank(both) : both),
         own ? "of rank r's own features alone" : "summed over the ranks before", relation);
  const Math one_over = quotient(number("1"), n.features);
  d.with_ranks(
      dx,
      quotient(difference(difference(g, product({one_over, first})),
                          entrywise({n.normal, product({one_over, second})})),
               n.deviation),
      {.first = "each feature also changes μ and σ of its token", .each = "rank r: its own features"});
}

}  // namespace

void derive_norm(Deriver& d) {
  switch (d.step().op) {
    case Op::LayerNormSums:
      return derive_sums(d);
    case Op::LayerNormApply:
      return derive_apply(d);
    case Op::LayerNormGrad:
      return derive_norm_gradient(d);
    case Op::LayerNormGradSums:
      return derive_gradient_sums(d);
    case Op::LayerNormGradApply:
      return derive_gradient_apply(d);
    default:
      return normalize(d);
  }
}

}  // namespace shardlens::formulas
