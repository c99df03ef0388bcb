// Experiments with LayerNorm, which works on whole tokens.
#include "engine/laboratory/tables.h"

namespace shardlens::lab {
namespace {

constexpr double kEpsilon = 1e-5;

struct Normed {
  Numbers y, stats;
};

Numbers gamma(const Bench& bench) {
  return bench.drawn("gamma", 1, kHidden);
}
Numbers beta(const Bench& bench) {
  return bench.drawn("beta", 1, kHidden);
}

Normed norm(const Bench& bench, const Numbers& x, const Numbers& scale, const Numbers& shift) {
  Normed normed{Numbers(x.rows, x.cols), Numbers(x.rows, 2)};
  bench.device().layer_norm({.rows = x.rows,
                             .cols = x.cols,
                             .epsilon = kEpsilon,
                             .x = x.data(),
                             .gamma = scale.data(),
                             .beta = shift.data(),
                             .y = normed.y.data(),
                             .stats = normed.stats.data()});
  return normed;
}

CutNorm cut_norm(const Numbers& piece) {
  return {.rows = piece.rows, .cols = piece.cols, .hidden = kHidden};
}

// Σx and Σ(x − m)² of the columns in `piece`, with m their mean.
Numbers sums_of(const Bench& bench, const Numbers& piece) {
  Numbers sums(piece.rows, 2);
  bench.device().layer_norm_sums(cut_norm(piece), piece.data(), sums.data());
  return sums;
}

// The ranks' sums of X cut by columns, side by side: what the all-gather of a cut norm gives.
Numbers gathered_sums(const Bench& bench, const Numbers& x) {
  std::vector<Numbers> sums;
  for (int rank = 0; rank < bench.ranks(); ++rank)
    sums.push_back(sums_of(bench, cols_of(x, bench.column_range(rank))));
  return bench.joined(sums, Joined::Columns);
}

// A rank's columns of the norm of `x`, which holds these columns of `whole`.
Normed cut_norm_of(const Bench& bench, const Numbers& whole, const Numbers& x, int rank) {
  const Range columns = bench.column_range(rank);
  const Numbers sums = gathered_sums(bench, whole), scale = cols_of(gamma(bench), columns),
                shift = cols_of(beta(bench), columns);
  Normed normed{Numbers(x.rows, x.cols), Numbers(x.rows, 2)};
  bench.device().layer_norm_apply({.norm = cut_norm(x),
                                   .epsilon = kEpsilon,
                                   .ranks = bench.ranks(),
                                   .column_group = kHeadDim,
                                   .x = x.data(),
                                   .gamma = scale.data(),
                                   .beta = shift.data(),
                                   .sums = sums.data(),
                                   .y = normed.y.data(),
                                   .stats = normed.stats.data()});
  return normed;
}

Experiment norm_experiment() {
  Experiment e{.name = "LayerNorm",
               .formula = "Y = γ ∘ (X − mean) / std + β",
               .operand = "the residual stream",
               .ops = {Op::LayerNorm, Op::LayerNormApply},
               .whole = [](const Bench& bench,
                           const Numbers& x) { return norm(bench, x, gamma(bench), beta(bench)).y; },
               .ways = {}};
  e.ways.push_back(same_on_each(
      e, kPartial, Joined::Summed, false,
      "A norm divides by the standard deviation of what it sees. A term has another one than the "
      "sum, and β would be added T times."));
  e.ways.push_back(same_on_each(e, kByTokens, Joined::Rows, true,
                                "Mean and standard deviation belong to one token, and whole tokens lie on a "
                                "rank. Sequence parallelism uses this."));
  e.ways.push_back(
      {.layout = kByColumns,
       .name = "each rank alone",
       .joined = Joined::Columns,
       .why = "The mean and the standard deviation belong to the whole token. A rank with some columns finds "
              "other ones.",
       .is_right = false,
       .on_rank = [](const Bench& bench, const Numbers& x, int rank) {
         const Range columns = bench.column_range(rank);
         return norm(bench, x, cols_of(gamma(bench), columns), cols_of(beta(bench), columns)).y;
       }});
  e.ways.push_back(
      {.layout = kByColumns,
       .name = "together with the others",
       .joined = Joined::Columns,
       .why =
           "Two sums of each rank's columns give mean and standard deviation of the token: a rank sends two "
           "numbers a token instead of its columns.",
       .on_rank = [](const Bench& bench, const Numbers& x, int rank) {
         return cut_norm_of(bench, bench.x(), x, rank).y;
       }});
  return e;
}

Experiment norm_sums_experiment() {
  Experiment e{.name = "LayerNorm's sums",
               .formula = "S = Σx, Σ(x − m)² of each token, m its mean",
               .operand = "the residual stream",
               .ops = {Op::LayerNormSums},
               .whole = sums_of,
               .ways = {}};
  e.ways.push_back(same_on_each(e, kPartial, Joined::Summed, false,
                                "Σx may be added, Σ(x − m)² may not: the square of a sum is not the sum of "
                                "the squares."));
  e.ways.push_back(same_on_each(e, kByTokens, Joined::Rows, true, "The sums belong to one token."));
  e.ways.push_back({.layout = kByColumns,
                    .name = "about the rank's own mean",
                    .joined = Joined::Summed,
                    .why = "Σx may be added. Each Σ(x − m)² is about the mean of one rank's columns, so what "
                           "lies between the ranks' means is missing.",
                    .is_right = false,
                    .on_rank = [](const Bench& bench, const Numbers& x, int) { return sums_of(bench, x); }});
  e.ways.push_back({.layout = kByColumns,
                    .name = "with the distances of the means",
                    .joined = Joined::Summed,
                    .why =
                        "Every rank knows the other ranks' sums, so also the token's mean. To its squares it "
                        "adds its number of columns times (m − mean)².",
                    .on_rank = [](const Bench& bench, const Numbers& x, int) {
                      const Numbers all = gathered_sums(bench, bench.x());
                      Numbers own = sums_of(bench, x);
                      const auto columns = static_cast<float>(x.cols);
                      for (int64_t row = 0; row < x.rows; ++row) {
                        float sum = 0;
                        for (int64_t rank = 0; rank < bench.ranks(); ++rank) sum += all.at(row, 2 * rank);
                        const float apart = own.at(row, 0) / columns - sum / static_cast<float>(kHidden);
                        own.data()[2 * row + 1] += columns * apart * apart;
                      }
                      return own;
                    }});
  return e;
}

// The norm's input in the backward pass, where the operand X of the experiment is the gradient dY.
Numbers norm_input(const Bench& bench) {
  return bench.drawn("norm input", kTokens, kHidden);
}

Numbers norm_gradient(const Bench& bench, const Numbers& x, const Numbers& scale, const Numbers& dy) {
  const Normed forward = norm(bench, x, scale, Numbers(1, x.cols));
  Numbers dx(x.rows, x.cols), dgamma(1, x.cols), dbeta(1, x.cols);
  bench.device().layer_norm_grad({.rows = x.rows,
                                  .cols = x.cols,
                                  .x = x.data(),
                                  .gamma = scale.data(),
                                  .stats = forward.stats.data(),
                                  .dy = dy.data(),
                                  .dx = dx.data(),
                                  .dgamma = dgamma.data(),
                                  .dbeta = dbeta.data()});
  return dx;
}

struct CutGradient {
  Numbers x, scale, stats, dy;

  CutGradient(const Bench& bench, const Numbers& dy_, int rank)
      : x(cols_of(norm_input(bench), bench.column_range(rank))),
        scale(cols_of(gamma(bench), bench.column_range(rank))),
        stats(cut_norm_of(bench, norm_input(bench), x, rank).stats),
        dy(dy_) {}

  Numbers own_sums(const Bench& bench) const {
    Numbers dsums(x.rows, 2), dgamma(1, x.cols), dbeta(1, x.cols);
    bench.device().layer_norm_grad_sums({.norm = cut_norm(x),
                                         .x = x.data(),
                                         .gamma = scale.data(),
                                         .stats = stats.data(),
                                         .dy = dy.data(),
                                         .dsums = dsums.data(),
                                         .dgamma = dgamma.data(),
                                         .dbeta = dbeta.data()});
    return dsums;
  }
  Numbers apply(const Bench& bench, const Numbers& dsums) const {
    Numbers dx(x.rows, x.cols);
    bench.device().layer_norm_grad_apply({.norm = cut_norm(x),
                                          .x = x.data(),
                                          .gamma = scale.data(),
                                          .stats = stats.data(),
                                          .dy = dy.data(),
                                          .dsums = dsums.data(),
                                          .dx = dx.data()});
    return dx;
  }
};

Experiment norm_gradient_experiment() {
  Experiment e{
      .name = "LayerNorm gradient",
      .formula = "dX = (g − mean(g) − x̂ ∘ mean(g ∘ x̂)) / std, g = γ ∘ dY",
      .operand = "the output's gradient",
      .ops = {Op::LayerNormGrad, Op::LayerNormGradSums, Op::LayerNormGradApply},
      .whole = [](const Bench& bench,
                  const Numbers& dy) { return norm_gradient(bench, norm_input(bench), gamma(bench), dy); },
      .ways = {}};
  e.ways.push_back(same_on_each(
      e, kPartial, Joined::Summed, true,
      "With the norm's input whole, mean and standard deviation are fixed numbers, and dX is linear in dY."));
  e.ways.push_back({.layout = kByTokens,
                    .name = "the input cut alike",
                    .joined = Joined::Rows,
                    .why = "The means belong to one token, and whole tokens lie on a rank.",
                    .on_rank = [](const Bench& bench, const Numbers& dy, int rank) {
                      return norm_gradient(bench, rows_of(norm_input(bench), bench.token_range(rank)),
                                           gamma(bench), dy);
                    }});
  e.ways.push_back({.layout = kByColumns,
                    .name = "sums of own columns",
                    .joined = Joined::Columns,
                    .why = "The two means of the gradient are over the whole token. A rank with some columns "
                           "has only its terms of them.",
                    .is_right = false,
                    .on_rank = [](const Bench& bench, const Numbers& dy, int rank) {
                      const CutGradient cut(bench, dy, rank);
                      return cut.apply(bench, cut.own_sums(bench));
                    }});
  e.ways.push_back({.layout = kByColumns,
                    .name = "both sums summed over the ranks",
                    .joined = Joined::Columns,
                    .why = "Both means are sums over the columns, so two numbers per token are enough.",
                    .on_rank = [](const Bench& bench, const Numbers& dy, int rank) {
                      std::vector<Numbers> sums;
                      for (int other = 0; other < bench.ranks(); ++other) {
                        const Numbers its = bench.held(kByColumns, other);
                        sums.push_back(CutGradient(bench, its, other).own_sums(bench));
                      }
                      return CutGradient(bench, dy, rank).apply(bench, bench.joined(sums, Joined::Summed));
                    }});
  return e;
}

}  // namespace

void add_norm_experiments(std::vector<Experiment>& table) {
  table.push_back(norm_experiment());
  table.push_back(norm_sums_experiment());
  table.push_back(norm_gradient_experiment());
}

}  // namespace shardlens::lab
