// Experiments with what a whole model has beside its layers and its loss: the embedding and the optimizer.
#include <array>

#include "engine/laboratory/tables.h"

namespace shardlens::lab {
namespace {

// Tokens' ids, for a table whose rows are as many as the laboratory's X has.
constexpr std::array<int32_t, kTokens> kIds{3, 0, 7, 3, 5, 1, 6, 2};

Numbers looked_up(const Bench& bench, const Numbers& table, Range rows) {
  Numbers y(kTokens, table.cols);
  bench.device().embedding({.tokens = kTokens,
                            .width = table.cols,
                            .rows = rows,
                            .ids = kIds.data(),
                            .table = table.data(),
                            .y = y.data()});
  return y;
}

Experiment embedding_experiment() {
  Experiment e{.name = "embedding",
               .formula = "Y = rows of the table",
               .operand = "the table",
               .ops = {Op::Embedding},
               .whole =
                   [](const Bench& bench, const Numbers& table) {
                     return looked_up(bench, table, {0, kTokens});
                   },
               .ways = {}};
  e.ways.push_back(same_on_each(e, kPartial, Joined::Summed, true,
                                "Looking up copies rows, and copies of terms add up to a copy of the sum."));
  e.ways.push_back({.layout = kByTokens,
                    .name = "zeros for rows of other ranks",
                    .joined = Joined::Summed,
                    .why = "One rank has a token's row, and all others add 0. The result is Partial, and one "
                           "all-reduce makes it whole.",
                    .on_rank = [](const Bench& bench, const Numbers& table, int rank) {
                      return looked_up(bench, table, bench.token_range(rank));
                    }});
  e.ways.push_back(
      same_on_each(e, kByColumns, Joined::Columns, true, "Each rank looks up its columns of every row."));
  return e;
}

Numbers table_gradient(const Bench& bench, const Numbers& dy, Range tokens) {
  Numbers dtable(kTokens, dy.cols);
  bench.device().embedding_grad({.tokens = tokens.size(),
                                 .width = dy.cols,
                                 .rows = {0, kTokens},
                                 .ids = kIds.data() + tokens.begin,
                                 .dy = dy.data(),
                                 .dtable = dtable.data()});
  return dtable;
}

Experiment table_gradient_experiment() {
  Experiment e{.name = "embedding gradient",
               .formula = "dTable = rows of dY, summed by id",
               .operand = "the output's gradient",
               .ops = {Op::EmbeddingGrad},
               .whole =
                   [](const Bench& bench, const Numbers& dy) {
                     return table_gradient(bench, dy, {0, kTokens});
                   },
               .ways = {}};
  e.ways.push_back(same_on_each(e, kPartial, Joined::Summed, true,
                                "The gradient only adds up rows, and sums of sums are sums."));
  e.ways.push_back({.layout = kByTokens,
                    .name = {},
                    .joined = Joined::Summed,
                    .why = "Tokens with the same id may lie on different ranks, so the ranks' tables must be "
                           "summed.",
                    .on_rank = [](const Bench& bench, const Numbers& dy, int rank) {
                      return table_gradient(bench, dy, bench.token_range(rank));
                    }});
  e.ways.push_back(
      same_on_each(e, kByColumns, Joined::Columns, true, "A column of the table gets one column of dY."));
  return e;
}

constexpr int64_t kSequences = 2, kSequence = kTokens / kSequences;

// The rows of each sequence's first token, and the gradient that puts them back.
Experiment first_token_experiment(bool is_gradient) {
  Experiment e{
      .name = is_gradient ? "first token's gradient" : "first token",
      .formula = is_gradient ? "dX = dY at each sequence's first token, else 0"
                             : "Y = X at each sequence's first token",
      .operand = is_gradient ? "the output's gradient" : "the residual stream",
      .ops = {is_gradient ? Op::FirstTokenGrad : Op::FirstToken},
      .whole =
          [is_gradient](const Bench& bench, const Numbers& x) {
            Numbers y(is_gradient ? x.rows * kSequence : x.rows / kSequence, x.cols);
            if (is_gradient)
              bench.device().first_token_grad(DType::Fp32, x.rows, kSequence, x.cols, x.data(), y.data());
            else
              bench.device().first_token(DType::Fp32, kSequences, kSequence, x.cols, x.data(), y.data());
            return y;
          },
      .ways = {}};
  e.ways.push_back(same_on_each(e, kPartial, Joined::Summed, true,
                                "It copies rows, and copies of terms add up to a copy of the sum."));
  e.ways.push_back(same_on_each(e, kByColumns, Joined::Columns, true, "It copies rows, column by column."));
  return e;
}

double squares_of(const Bench& bench, const Numbers& x) {
  double total = 0;
  const ListedTensor listed{x.count(), x.data()};
  bench.device().square_sum(DType::Fp32, {&listed, 1}, &total);
  return total;
}

Numbers one_number(double value) {
  Numbers number(1, 1);
  number.values[0] = static_cast<float>(value);
  return number;
}

Experiment squares_experiment() {
  Experiment e{.name = "sum of squares",
               .formula = "Σ x² over all elements",
               .operand = "a gradient",
               .ops = {Op::SquareSum},
               .whole = [](const Bench& bench, const Numbers& x) { return one_number(squares_of(bench, x)); },
               .ways = {}};
  e.ways.push_back(
      same_on_each(e, kPartial, Joined::Summed, false,
                   "The square of a sum is not the sum of the squares: the products of different "
                   "terms are missing."));
  const char* const why = "It is a sum over all elements, so each rank adds up its own.";
  e.ways.push_back(same_on_each(e, kByTokens, Joined::Summed, true, why));
  e.ways.push_back(same_on_each(e, kByColumns, Joined::Summed, true, why));
  return e;
}

Numbers clip_factor(const Bench& bench, double squares) {
  constexpr double kClip = 1.0;
  std::array<double, 2> factor{};
  const double* const sums = &squares;
  bench.device().clip_factor({.sums = {&sums, 1}, .clip = kClip, .factor = factor.data()});
  return one_number(factor[0]);
}

Experiment clip_experiment() {
  Experiment e{
      .name = "clip factor",
      .formula = "min(1, clip / √Σx²)",
      .operand = "a gradient",
      .ops = {Op::ClipFactor},
      .whole = [](const Bench& bench, const Numbers& x) { return clip_factor(bench, squares_of(bench, x)); },
      .ways = {}};
  const auto own = [&](Layout layout) {
    Way way = same_on_each(e, layout, Joined::Alike, false,
                           "Every rank finds the norm of its own part, so the ranks scale by different "
                           "factors.");
    way.name = "norm of the own part";
    e.ways.push_back(way);
  };
  const auto summed = [&](Layout layout) {
    e.ways.push_back({.layout = layout,
                      .name = "squares summed over the ranks",
                      .joined = Joined::Alike,
                      .why =
                          "The squares are summed over the ranks first: one number. Then all ranks have the "
                          "same norm and factor.",
                      .on_rank = [layout](const Bench& bench, const Numbers&, int) {
                        double squares = 0;
                        for (int rank = 0; rank < bench.ranks(); ++rank)
                          squares += squares_of(bench, bench.held(layout, rank));
                        return clip_factor(bench, squares);
                      }});
  };
  own(kPartial);
  for (const Layout layout : {kByTokens, kByColumns}) {
    own(layout);
    summed(layout);
  }
  return e;
}

Numbers updated(const Bench& bench, const Numbers& gradient, Numbers parameter) {
  Numbers first(parameter.rows, parameter.cols), second(parameter.rows, parameter.cols);
  const double factor = 1;
  const AdamWStep step{.count = parameter.count(),
                       .parameter = parameter.data(),
                       .gradient = gradient.data(),
                       .first_moment = first.data(),
                       .second_moment = second.data(),
                       .factor = &factor,
                       .learning_rate = 0.1,
                       .weight_decay = 0.01,
                       .beta1 = 0.9,
                       .beta2 = 0.999,
                       .epsilon = 1e-8};
  bench.device().adamw({&step, 1});
  return parameter;
}
Numbers parameter(const Bench& bench) {
  return bench.drawn("parameter", kTokens, kHidden);
}

Experiment adamw_experiment() {
  Experiment e{.name = "AdamW",
               .formula = "p = p(1 − lr·decay) − lr·m̂ / (√v̂ + ε)",
               .operand = "the gradient",
               .ops = {Op::AdamW},
               .whole = [](const Bench& bench,
                           const Numbers& gradient) { return updated(bench, gradient, parameter(bench)); },
               .ways = {}};
  Way shares = same_on_each(e, kPartial, Joined::Alike, false,
                            "AdamW divides a gradient by its own size. With a term, every rank steps another "
                            "way, and the copies of the parameter part.");
  shares.name = "p whole on every rank";
  e.ways.push_back(shares);
  const char* const why =
      "A number of the parameter needs one number of gradient and moments, all cut alike: nothing is sent.";
  e.ways.push_back({.layout = kByTokens,
                    .name = "p, m and v cut alike",
                    .joined = Joined::Rows,
                    .why = why,
                    .on_rank = [](const Bench& bench, const Numbers& gradient, int rank) {
                      return updated(bench, gradient, rows_of(parameter(bench), bench.token_range(rank)));
                    }});
  e.ways.push_back({.layout = kByColumns,
                    .name = "p, m and v cut alike",
                    .joined = Joined::Columns,
                    .why = why,
                    .on_rank = [](const Bench& bench, const Numbers& gradient, int rank) {
                      return updated(bench, gradient, cols_of(parameter(bench), bench.column_range(rank)));
                    }});
  return e;
}

}  // namespace

void add_embedding_experiments(std::vector<Experiment>& table) {
  table.push_back(embedding_experiment());
  table.push_back(table_gradient_experiment());
  table.push_back(first_token_experiment(false));
  table.push_back(first_token_experiment(true));
}

void add_optimizer_experiments(std::vector<Experiment>& table) {
  table.push_back(squares_experiment());
  table.push_back(clip_experiment());
  table.push_back(adamw_experiment());
}

}  // namespace shardlens::lab
