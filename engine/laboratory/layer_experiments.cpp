// Experiments with the operations of a layer that work on each number or each token.
#include "engine/laboratory/tables.h"

namespace shardlens::lab {
namespace {

constexpr double kEpsilon = 1e-5;
constexpr int kRoundLimit = 127;

// An experiment whose operation works on every number alone: pieces are exact, whatever the cut.
Experiment element_by_element(Experiment e, bool is_linear, std::string why_shares) {
  e.ways.push_back(same_on_each(e, kPartial, Joined::Summed, is_linear, std::move(why_shares)));
  const char* const why = "Each number of the result needs one number of X, so every cut is right.";
  e.ways.push_back(same_on_each(e, kByTokens, Joined::Rows, true, why));
  e.ways.push_back(same_on_each(e, kByColumns, Joined::Columns, true, why));
  return e;
}

Experiment gelu_experiment() {
  return element_by_element(
      {.name = "GeLU",
       .formula = "Y = GeLU(X)",
       .operand = "the product's result",
       .ops = {Op::Gelu},
       .whole =
           [](const Bench& bench, const Numbers& x) {
             Numbers y(x.rows, x.cols);
             bench.device().gelu(DType::Fp32, GeluForm::Tanh, x.count(), x.data(), y.data());
             return y;
           },
       .ways = {}},
      false,
      "GeLU is not linear: its curve bends at 0. So the shares must be summed before it.");
}

Numbers gelu_gradient(const Bench& bench, const Numbers& h, const Numbers& dy) {
  Numbers dx(h.rows, h.cols);
  bench.device().gelu_grad({.count = h.count(), .x = h.data(), .dy = dy.data(), .dx = dx.data()});
  return dx;
}

// An operand that is cut as X is: the rows or columns of this rank, or all of it.
Numbers cut_alike(const Bench& bench, Layout layout, const Numbers& whole, int rank) {
  if (layout.kind != LayoutKind::Sharded) return whole;
  return layout.dim == 0 ? rows_of(whole, bench.token_range(rank)) : cols_of(whole, bench.column_range(rank));
}

// A gradient dX = dY ∘ g(other): linear in dY, and every cut is right if `other` is cut alike.
Experiment elementwise_gradient(const char* name, const char* formula, Op op, const char* other_name,
                                Numbers (*gradient)(const Bench&, const Numbers& other, const Numbers& dy),
                                Numbers (*other)(const Bench&)) {
  Experiment e{.name = name,
               .formula = formula,
               .operand = "the output's gradient",
               .ops = {op},
               .whole = [=](const Bench& bench,
                            const Numbers& dy) { return gradient(bench, other(bench), dy); },
               .ways = {}};
  const auto way = [&](Layout layout, Joined joined, std::string why) {
    e.ways.push_back({.layout = layout,
                      .name = layout == kPartial ? std::string(other_name) + " whole"
                                                 : std::string(other_name) + " cut alike",
                      .joined = joined,
                      .why = std::move(why),
                      .on_rank = [=](const Bench& bench, const Numbers& dy, int rank) {
                        return gradient(bench, cut_alike(bench, layout, other(bench), rank), dy);
                      }});
  };
  way(kPartial, Joined::Summed,
      std::string("The slope comes from ") + other_name +
          ", which is whole. dY is only multiplied by it, which is linear, so gradients may be summed later.");
  const char* const why = "Each number of dX needs one number of each operand, so every cut is right.";
  way(kByTokens, Joined::Rows, why);
  way(kByColumns, Joined::Columns, why);
  return e;
}

Numbers gelu_input(const Bench& bench) {
  return bench.drawn("gelu input", kTokens, kHidden);
}

Experiment gelu_slope_experiment() {
  return element_by_element(
      {.name = "GeLU gradient, of H",
       .formula = "dX = dY ∘ GeLU'(H)",
       .operand = "the GeLU's input H",
       .ops = {Op::GeluGrad},
       .whole =
           [](const Bench& bench, const Numbers& h) {
             Numbers dy(h.rows, h.cols);
             std::fill(dy.values.begin(), dy.values.end(), 1.0f);
             return gelu_gradient(bench, h, dy);
           },
       .ways = {}},
      false,
      "The slope of GeLU is not linear in its input: the slope at a sum is not the sum of the slopes.");
}

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
  return {.rows = piece.rows, .cols = piece.cols, .hidden = kHidden, .epsilon = kEpsilon};
}

// Σx and Σx² of the columns in `piece`.
Numbers sums_of(const Bench& bench, const Numbers& piece) {
  Numbers sums(piece.rows, 2);
  bench.device().layer_norm_sums(cut_norm(piece), piece.data(), sums.data());
  return sums;
}

// The ranks' Σx and Σx² of X cut by columns, added up: what the all-reduce of a cut norm gives.
Numbers summed_sums(const Bench& bench, const Numbers& x) {
  std::vector<Numbers> sums;
  for (int rank = 0; rank < bench.ranks(); ++rank)
    sums.push_back(sums_of(bench, cols_of(x, bench.column_range(rank))));
  return bench.joined(sums, Joined::Summed);
}

Experiment norm_experiment() {
  Experiment e{.name = "LayerNorm",
               .formula = "Y = γ ∘ (X − mean) / std + β",
               .operand = "the residual stream",
               .ops = {Op::LayerNorm, Op::LayerNormApply},
               .whole = [](const Bench& bench,
                           const Numbers& x) { return norm(bench, x, gamma(bench), beta(bench)).y; },
               .ways = {}};
  e.ways.push_back(
      same_on_each(e, kPartial, Joined::Summed, false,
                   "A norm divides by the standard deviation of what it sees. A share has another one than the "
                   "sum, and β would be added T times."));
  e.ways.push_back(same_on_each(e, kByTokens, Joined::Rows, true,
                                "Mean and standard deviation belong to one token, and whole tokens lie on a "
                                "rank. Sequence parallelism uses this."));
  e.ways.push_back(
      {.layout = kByColumns,
       .name = "mean and std of the own columns",
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
       .name = "Σx and Σx² summed over the ranks",
       .joined = Joined::Columns,
       .why = "Two sums give mean and standard deviation, and sums may be added over the ranks: two numbers a "
              "token are sent instead of the whole token.",
       .on_rank = [](const Bench& bench, const Numbers& x, int rank) {
         const Range columns = bench.column_range(rank);
         const Numbers sums = summed_sums(bench, bench.x()), scale = cols_of(gamma(bench), columns),
                       shift = cols_of(beta(bench), columns);
         Numbers y(x.rows, x.cols);
         bench.device().layer_norm_apply({.norm = cut_norm(x),
                                          .x = x.data(),
                                          .gamma = scale.data(),
                                          .beta = shift.data(),
                                          .sums = sums.data(),
                                          .y = y.data()});
         return y;
       }});
  return e;
}

Experiment norm_sums_experiment() {
  Experiment e{.name = "LayerNorm's sums",
               .formula = "S = Σx, Σx² of each token",
               .operand = "the residual stream",
               .ops = {Op::LayerNormSums},
               .whole = sums_of,
               .ways = {}};
  e.ways.push_back(same_on_each(e, kPartial, Joined::Summed, false,
                                "Σx may be added, Σx² may not: the square of a sum is not the sum of the "
                                "squares."));
  e.ways.push_back(same_on_each(e, kByTokens, Joined::Rows, true, "The sums belong to one token."));
  e.ways.push_back(same_on_each(e, kByColumns, Joined::Summed, true,
                                "Both are sums over the columns, so each rank adds up its columns."));
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
  Numbers x, scale, sums, dy;

  CutGradient(const Bench& bench, const Numbers& dy_, int rank)
      : x(cols_of(norm_input(bench), bench.column_range(rank))),
        scale(cols_of(gamma(bench), bench.column_range(rank))),
        sums(summed_sums(bench, norm_input(bench))),
        dy(dy_) {}

  Numbers own_sums(const Bench& bench) const {
    Numbers dsums(x.rows, 2), dgamma(1, x.cols), dbeta(1, x.cols);
    bench.device().layer_norm_grad_sums({.norm = cut_norm(x),
                                         .x = x.data(),
                                         .gamma = scale.data(),
                                         .sums = sums.data(),
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
                                          .sums = sums.data(),
                                          .dy = dy.data(),
                                          .dsums = dsums.data(),
                                          .dx = dx.data()});
    return dx;
  }
};

Experiment norm_gradient_experiment() {
  Experiment e{.name = "LayerNorm gradient",
               .formula = "dX = (g − mean(g) − x̂ ∘ mean(g ∘ x̂)) / std, g = γ ∘ dY",
               .operand = "the output's gradient",
               .ops = {Op::LayerNormGrad, Op::LayerNormGradSums, Op::LayerNormGradApply},
               .whole = [](const Bench& bench, const Numbers& dy) {
                 return norm_gradient(bench, norm_input(bench), gamma(bench), dy);
               },
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
                    .name = "sums of the own columns",
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
                    .why = "Both means are sums over the columns, so two numbers a token are enough.",
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

// The dropout of elements that lie in the full tensor as `place` says.
Numbers dropped(const Bench& bench, const Numbers& x, RowRuns place, uint64_t stream) {
  constexpr double kProbability = 0.5;
  Numbers y(x.rows, x.cols);
  bench.device().dropout(DType::Fp32, {.probability = kProbability, .seed = 1, .stream = stream}, place,
                         x.data(), y.data());
  return y;
}

RowRuns place_of(Layout layout, const Bench& bench, const Numbers& x, int rank) {
  const int64_t first = layout == kByTokens    ? bench.token_range(rank).begin * kHidden
                        : layout == kByColumns ? bench.column_range(rank).begin
                                               : 0;
  return {.first = first, .rows = x.rows, .run = x.cols, .stride = kHidden};
}

Experiment dropout_experiment() {
  constexpr uint64_t kStream = 7;
  Experiment e{.name = "dropout",
               .formula = "Y = X ∘ mask / (1 − p), p = 0.5",
               .operand = "the block's output",
               .ops = {Op::Dropout},
               .whole = [](const Bench& bench, const Numbers& x) {
                 return dropped(bench, x, place_of(kReplicated, bench, x, 0), kStream);
               },
               .ways = {}};
  Way one_mask = same_on_each(e, kPartial, Joined::Summed, true,
                              "With one mask for all ranks, dropout only multiplies each number by 0 or by "
                              "1/(1 − p), which is linear.");
  one_mask.name = "one mask on all ranks";
  e.ways.push_back(one_mask);
  e.ways.push_back({.layout = kPartial,
                    .name = "a mask of its own on every rank",
                    .joined = Joined::Summed,
                    .why = "Every rank drops other numbers, so the sum keeps some shares of a number and not "
                           "the others. It is no mask of the sum.",
                    .is_right = false,
                    .on_rank = [](const Bench& bench, const Numbers& x, int rank) {
                      return dropped(bench, x, place_of(kPartial, bench, x, rank),
                                     kStream + static_cast<uint64_t>(rank));
                    }});
  for (const Layout layout : {kByTokens, kByColumns}) {
    const Joined joined = layout == kByTokens ? Joined::Rows : Joined::Columns;
    e.ways.push_back({.layout = layout,
                      .name = "drawn by place in the whole",
                      .joined = joined,
                      .why = "A number's draw depends only on its place in the whole tensor, so each rank "
                             "draws its piece of the one mask.",
                      .on_rank = [layout](const Bench& bench, const Numbers& x, int rank) {
                        return dropped(bench, x, place_of(layout, bench, x, rank), kStream);
                      }});
    e.ways.push_back({.layout = layout,
                      .name = "drawn from the piece's beginning",
                      .joined = joined,
                      .why = "Every rank draws the same first numbers, so all pieces get the mask of the first "
                             "piece. It is another mask than that of one rank.",
                      .is_right = false,
                      .on_rank = [](const Bench& bench, const Numbers& x, int) {
                        return dropped(bench, x,
                                       {.first = 0, .rows = x.rows, .run = x.cols, .stride = x.cols},
                                       kStream);
                      }});
  }
  return e;
}

Experiment tanh_experiment() {
  return element_by_element(
      {.name = "tanh",
       .formula = "Y = tanh(X)",
       .operand = "the pooler's product",
       .ops = {Op::Tanh},
       .whole =
           [](const Bench& bench, const Numbers& x) {
             Numbers y(x.rows, x.cols);
             bench.device().tanh(DType::Fp32, x.count(), x.data(), y.data());
             return y;
           },
       .ways = {}},
      false, "tanh is not linear: no result is above 1, but a sum of results can be.");
}

Numbers tanh_output(const Bench& bench) {
  const Numbers x = bench.drawn("tanh input", kTokens, kHidden);
  Numbers y(x.rows, x.cols);
  bench.device().tanh(DType::Fp32, x.count(), x.data(), y.data());
  return y;
}

Numbers tanh_gradient(const Bench& bench, const Numbers& y, const Numbers& dy) {
  Numbers dx(y.rows, y.cols);
  bench.device().tanh_grad({.count = y.count(), .y = y.data(), .dy = dy.data(), .dx = dx.data()});
  return dx;
}

Experiment round_experiment() {
  return element_by_element(
      {.name = "rounding",
       .formula = "Y = nearest integer of X",
       .operand = "integer operands' results",
       .ops = {Op::Round},
       .whole =
           [](const Bench& bench, const Numbers& x) {
             Numbers y(x.rows, x.cols);
             bench.device().round(DType::Fp32, x.count(), kRoundLimit, x.data(), y.data());
             return y;
           },
       .ways = {}},
      false, "0.4 + 0.4 rounds to 1, but 0.4 rounds to 0 twice: rounding each share loses the parts.");
}

}  // namespace

void add_layer_experiments(std::vector<Experiment>& table) {
  table.push_back(gelu_experiment());
  table.push_back(norm_experiment());
  table.push_back(dropout_experiment());
  table.push_back(elementwise_gradient("GeLU gradient", "dX = dY ∘ GeLU'(H)", Op::GeluGrad, "H",
                                       gelu_gradient, gelu_input));
  table.push_back(gelu_slope_experiment());
  table.push_back(norm_sums_experiment());
  table.push_back(norm_gradient_experiment());
  table.push_back(tanh_experiment());
  table.push_back(elementwise_gradient("tanh gradient", "dX = dY ∘ (1 − Y²)", Op::TanhGrad, "Y",
                                       tanh_gradient, tanh_output));
  table.push_back(round_experiment());
}

}  // namespace shardlens::lab
