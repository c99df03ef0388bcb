// Experiments with matrix products and with what is added to their results.
#include "engine/laboratory/tables.h"

namespace shardlens::lab {
namespace {

constexpr int64_t kOut = 16;  // columns of the products' results

/// a·b, where either operand may be turned first: aᵀ·b, a·bᵀ.
struct Turned {
  bool a = false, b = false;
};

Numbers product(const Bench& bench, const Numbers& a, const Numbers& b, Turned turned = {}) {
  const int64_t rows = turned.a ? a.cols : a.rows, inner = turned.a ? a.rows : a.cols;
  Numbers y(rows, turned.b ? b.rows : b.cols);
  bench.device().gemm({.transpose_a = turned.a,
                       .transpose_b = turned.b,
                       .m = y.rows,
                       .n = y.cols,
                       .k = inner,
                       .a = a.data(),
                       .lda = a.cols,
                       .b = b.data(),
                       .ldb = b.cols,
                       .c = y.data(),
                       .ldc = y.cols});
  return y;
}

Numbers with_bias(const Bench& bench, const Numbers& x, const Numbers& bias) {
  Numbers y(x.rows, x.cols);
  bench.device().bias_add(
      {.rows = x.rows, .cols = x.cols, .x = x.data(), .bias = bias.data(), .y = y.data()});
  return y;
}

Numbers weight(const Bench& bench) {
  return bench.drawn("weight", kHidden, kOut);
}
Numbers bias(const Bench& bench) {
  return bench.drawn("bias", 1, kHidden);
}
// X of the weight's gradient, whose other operand is dY.
Numbers input(const Bench& bench) {
  return bench.drawn("input", kTokens, kHidden);
}
Numbers addend(const Bench& bench) {
  return bench.drawn("addend", kTokens, kHidden);
}

Experiment product_experiment() {
  Experiment e{.name = "product",
               .formula = "Y = X·W",
               .operand = "the activations",
               .ops = {Op::Linear},
               .whole = [](const Bench& bench, const Numbers& x) { return product(bench, x, weight(bench)); },
               .ways = {}};
  e.ways.push_back(
      {.layout = kReplicated,
       .name = "W cut by columns",
       .joined = Joined::Columns,
       .why = "A column of Y needs the whole of X and one column of W, so columns of W may lie on "
              "different ranks. This is the column-parallel product.",
       .on_rank = [](const Bench& bench, const Numbers& x, int rank) {
         return product(bench, x, cols_of(weight(bench), shard_range(kOut, bench.ranks(), rank)));
       }});
  e.ways.push_back(same_on_each(
      e, kPartial, Joined::Summed, true,
      "A product is linear: (X0 + X1)·W = X0·W + X1·W. The sum may wait until after the product."));
  e.ways.push_back(
      same_on_each(e, kByTokens, Joined::Rows, true,
                   "A row of Y needs one row of X and all of W, so each rank makes its own rows."));
  e.ways.push_back(
      {.layout = kByColumns,
       .name = "W cut by rows",
       .joined = Joined::Summed,
       .why =
           "Each number of Y is a sum over the columns of X. A rank adds the terms of its columns, and the "
           "ranks' results must be summed. This is the row-parallel product: its result is Partial.",
       .on_rank = [](const Bench& bench, const Numbers& x, int rank) {
         return product(bench, x, rows_of(weight(bench), bench.column_range(rank)));
       }});
  return e;
}

Experiment input_gradient_experiment() {
  Experiment e{.name = "product's gradient dX",
               .formula = "dX = dY·Wᵀ",
               .operand = "the output's gradient",
               .ops = {Op::LinearGradInput},
               .whole = [](const Bench& bench,
                           const Numbers& dy) { return product(bench, dy, weight(bench), {.b = true}); },
               .ways = {}};
  e.ways.push_back(same_on_each(e, kPartial, Joined::Summed, true,
                                "The gradient of a product is a product, so it is linear in dY."));
  e.ways.push_back(same_on_each(e, kByTokens, Joined::Rows, true, "A row of dX needs one row of dY."));
  e.ways.push_back(
      {.layout = kByColumns,
       .name = "W cut by columns",
       .joined = Joined::Summed,
       .why =
           "Each number of dX is a sum over the columns of dY. A rank adds the terms of its columns, so dX "
           "is Partial behind a column-parallel product. This is why f is an all-reduce backward.",
       .on_rank = [](const Bench& bench, const Numbers& dy, int rank) {
         return product(bench, dy, cols_of(weight(bench), bench.column_range(rank)), {.b = true});
       }});
  return e;
}

Experiment weight_gradient_experiment() {
  Experiment e{.name = "product's gradient dW",
               .formula = "dW = Xᵀ·dY",
               .operand = "the output's gradient",
               .ops = {Op::LinearGradWeight},
               .whole = [](const Bench& bench,
                           const Numbers& dy) { return product(bench, input(bench), dy, {.a = true}); },
               .ways = {}};
  e.ways.push_back(
      same_on_each(e, kPartial, Joined::Summed, true, "dW is linear in dY, as every product is."));
  e.ways.push_back({.layout = kByTokens,
                    .name = "X cut by tokens too",
                    .joined = Joined::Summed,
                    .why = "dW is a sum over the tokens. Ranks with different tokens each have a part of the "
                           "sum. This is the sum of data parallelism.",
                    .on_rank = [](const Bench& bench, const Numbers& dy, int rank) {
                      return product(bench, rows_of(input(bench), bench.token_range(rank)), dy, {.a = true});
                    }});
  e.ways.push_back(same_on_each(
      e, kByColumns, Joined::Columns, true,
      "A column of dW needs one column of dY. The gradient of a cut matrix stays cut: nothing is sent."));
  return e;
}

Experiment bias_experiment() {
  Experiment e{.name = "bias",
               .formula = "Y = X + b",
               .operand = "the product's result",
               .ops = {Op::BiasAdd},
               .whole = [](const Bench& bench, const Numbers& x) { return with_bias(bench, x, bias(bench)); },
               .ways = {}};
  Way everywhere = same_on_each(e, kPartial, Joined::Summed, false,
                                "Every rank adds b to its term, so the sum holds the bias T times.");
  everywhere.name = "b on every rank";
  e.ways.push_back(everywhere);
  e.ways.push_back({.layout = kPartial,
                    .name = "b/T on every rank",
                    .joined = Joined::Summed,
                    .why = "T times b/T is one b. Each rank adds only its part of the bias.",
                    .on_rank = [](const Bench& bench, const Numbers& x, int) {
                      const float share = 1.0f / static_cast<float>(bench.ranks());
                      return with_bias(bench, x, Bench::scaled(bias(bench), share));
                    }});
  e.ways.push_back({.layout = kPartial,
                    .name = "b on rank 0 alone",
                    .joined = Joined::Summed,
                    .why = "Only one term holds the bias, so the sum holds it once.",
                    .on_rank = [](const Bench& bench, const Numbers& x, int rank) {
                      return rank == 0 ? with_bias(bench, x, bias(bench)) : x;
                    }});
  e.ways.push_back(same_on_each(e, kByTokens, Joined::Rows, true,
                                "Every row gets the same b, so each rank adds the whole b to its rows."));
  e.ways.push_back(
      {.layout = kByColumns,
       .name = "b cut by columns",
       .joined = Joined::Columns,
       .why =
           "A column gets one number of b, so b is cut as the columns are. A column-parallel product can add "
           "it at once.",
       .on_rank = [](const Bench& bench, const Numbers& x, int rank) {
         return with_bias(bench, x, cols_of(bias(bench), bench.column_range(rank)));
       }});
  return e;
}

Experiment bias_gradient_experiment() {
  Experiment e{.name = "bias gradient",
               .formula = "db = Σ dY over tokens",
               .operand = "the output's gradient",
               .ops = {Op::BiasGrad},
               .whole =
                   [](const Bench& bench, const Numbers& dy) {
                     Numbers db(1, dy.cols);
                     bench.device().bias_grad(DType::Fp32, dy.rows, dy.cols, dy.data(), db.data());
                     return db;
                   },
               .ways = {}};
  e.ways.push_back(same_on_each(e, kPartial, Joined::Summed, true,
                                "A sum of sums is the sum of everything, in another order."));
  e.ways.push_back(same_on_each(e, kByTokens, Joined::Summed, true,
                                "db is a sum over the tokens. Ranks with different tokens each have a part "
                                "of it, which must be summed."));
  e.ways.push_back(same_on_each(e, kByColumns, Joined::Columns, true,
                                "A number of db needs one column of dY, which lies on one rank."));
  return e;
}

Experiment residual_experiment() {
  Experiment e{.name = "residual sum",
               .formula = "Y = X + stream",
               .operand = "the block's output",
               .ops = {Op::Add},
               .whole = [](const Bench& bench, const Numbers& x) { return bench.sum(x, addend(bench)); },
               .ways = {}};
  Way everywhere = same_on_each(
      e, kPartial, Joined::Summed, false,
      "The stream is whole on every rank. Each rank adds all of it, so the sum holds it T times.");
  everywhere.name = "the stream on every rank";
  e.ways.push_back(everywhere);
  e.ways.push_back({.layout = kPartial,
                    .name = "a T-th on every rank",
                    .joined = Joined::Summed,
                    .why = "T times a T-th of the stream is the stream once.",
                    .on_rank = [](const Bench& bench, const Numbers& x, int) {
                      const float share = 1.0f / static_cast<float>(bench.ranks());
                      return bench.sum(x, Bench::scaled(addend(bench), share));
                    }});
  e.ways.push_back({.layout = kPartial,
                    .name = "the stream on rank 0 alone",
                    .joined = Joined::Summed,
                    .why = "Only one term holds the stream, so the sum holds it once.",
                    .on_rank = [](const Bench& bench, const Numbers& x, int rank) {
                      return rank == 0 ? bench.sum(x, addend(bench)) : x;
                    }});
  const auto cut = [](Layout layout, Joined joined, auto cut_addend, const char* name) {
    return Way{.layout = layout,
               .name = name,
               .joined = joined,
               .why = "Each number of Y needs one number of each operand, so both are cut alike.",
               .on_rank = [cut_addend](const Bench& bench, const Numbers& x, int rank) {
                 return bench.sum(x, cut_addend(bench, rank));
               }};
  };
  e.ways.push_back(cut(
      kByTokens, Joined::Rows,
      [](const Bench& bench, int rank) { return rows_of(addend(bench), bench.token_range(rank)); },
      "the stream cut alike"));
  e.ways.push_back(cut(
      kByColumns, Joined::Columns,
      [](const Bench& bench, int rank) { return cols_of(addend(bench), bench.column_range(rank)); },
      "the stream cut alike"));
  return e;
}

}  // namespace

void add_product_experiments(std::vector<Experiment>& table) {
  table.push_back(product_experiment());
  table.push_back(bias_experiment());
  table.push_back(residual_experiment());
  table.push_back(input_gradient_experiment());
  table.push_back(weight_gradient_experiment());
  table.push_back(bias_gradient_experiment());
}

}  // namespace shardlens::lab
