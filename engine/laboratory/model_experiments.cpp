// Experiments with what a whole model has beside its layers: the embedding, the loss over a cut vocabulary, and
// the optimizer.
#include <array>

#include "engine/laboratory/tables.h"

namespace shardlens::lab {
namespace {

// Tokens' ids, for a table whose rows are as many as the laboratory's X has.
constexpr std::array<int32_t, kTokens> kIds{3, 0, 7, 3, 5, 1, 6, 2};
constexpr std::array<int32_t, kTokens> kLabels{4, 15, 0, 9, 7, 2, 12, 10};
constexpr std::array<int32_t, kTokens> kNoLabels{-1, -1, -1, -1, -1, -1, -1, -1};

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
               .whole = [](const Bench& bench,
                           const Numbers& table) { return looked_up(bench, table, {0, kTokens}); },
               .ways = {}};
  e.ways.push_back(same_on_each(e, kPartial, Joined::Summed, true,
                                "Looking up copies rows, and copies of shares add up to a copy of the sum."));
  e.ways.push_back({.layout = kByTokens,
                    .name = "zeros for rows of other ranks",
                    .joined = Joined::Summed,
                    .why = "One rank has a token's row, and all others add 0. The result is Partial, and one "
                           "all-reduce makes it whole.",
                    .on_rank = [](const Bench& bench, const Numbers& table, int rank) {
                      return looked_up(bench, table, bench.token_range(rank));
                    }});
  e.ways.push_back(same_on_each(e, kByColumns, Joined::Columns, true,
                                "Each rank looks up its columns of every row."));
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
               .whole = [](const Bench& bench,
                           const Numbers& dy) { return table_gradient(bench, dy, {0, kTokens}); },
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
  e.ways.push_back(same_on_each(e, kByColumns, Joined::Columns, true,
                                "A column of the table gets one column of dY."));
  return e;
}

constexpr int64_t kSequences = 2, kSequence = kTokens / kSequences;

// The rows of each sequence's first token, and the gradient that puts them back.
Experiment first_token_experiment(bool is_gradient) {
  Experiment e{.name = is_gradient ? "first token's gradient" : "first token",
               .formula = is_gradient ? "dX = dY at each sequence's first token, else 0"
                                      : "Y = X at each sequence's first token",
               .operand = is_gradient ? "the output's gradient" : "the residual stream",
               .ops = {is_gradient ? Op::FirstTokenGrad : Op::FirstToken},
               .whole = [is_gradient](const Bench& bench, const Numbers& x) {
                 Numbers y(is_gradient ? x.rows * kSequence : x.rows / kSequence, x.cols);
                 if (is_gradient)
                   bench.device().first_token_grad(DType::Fp32, x.rows, kSequence, x.cols, x.data(),
                                                   y.data());
                 else
                   bench.device().first_token(DType::Fp32, kSequences, kSequence, x.cols, x.data(), y.data());
                 return y;
               },
               .ways = {}};
  e.ways.push_back(same_on_each(e, kPartial, Joined::Summed, true,
                                "It copies rows, and copies of shares add up to a copy of the sum."));
  e.ways.push_back(
      same_on_each(e, kByColumns, Joined::Columns, true, "It copies rows, column by column."));
  return e;
}

VocabShard shard_of(const Numbers& logits, int64_t first) {
  return {.tokens = logits.rows, .columns = {first, first + logits.cols}, .vocab = kHidden};
}

Numbers largest_of(const Bench& bench, const Numbers& logits, int64_t first = 0) {
  Numbers max(logits.rows, 1);
  bench.device().vocab_max(shard_of(logits, first), logits.data(), max.data());
  return max;
}
Numbers exponentials_of(const Bench& bench, const Numbers& logits, const Numbers& max, int64_t first = 0) {
  Numbers sum(logits.rows, 1);
  bench.device().sum_exp({.shard = shard_of(logits, first),
                          .logits = logits.data(),
                          .max = max.data(),
                          .sum = sum.data()});
  return sum;
}
Numbers targets_of(const Bench& bench, const Numbers& logits, int64_t first_token, int64_t first = 0) {
  Numbers target(logits.rows, 1);
  bench.device().target_logit(shard_of(logits, first), logits.data(), kLabels.data() + first_token,
                              target.data());
  return target;
}

// What each rank computes from its columns of the logits, joined as an all-reduce does.
Numbers over_ranks(const Bench& bench, Joined how,
                   const std::function<Numbers(const Numbers& logits, int64_t first)>& of) {
  std::vector<Numbers> results;
  for (int rank = 0; rank < bench.ranks(); ++rank)
    results.push_back(of(bench.held(kByColumns, rank), bench.column_range(rank).begin));
  return bench.joined(results, how);
}
Numbers largest_over_ranks(const Bench& bench) {
  return over_ranks(bench, Joined::Largest,
                    [&](const Numbers& logits, int64_t first) { return largest_of(bench, logits, first); });
}
Numbers exponentials_over_ranks(const Bench& bench, const Numbers& max) {
  return over_ranks(bench, Joined::Summed, [&](const Numbers& logits, int64_t first) {
    return exponentials_of(bench, logits, max, first);
  });
}

Experiment largest_experiment() {
  Experiment e{.name = "largest logit",
               .formula = "max of each token's logits",
               .operand = "the logits",
               .ops = {Op::VocabMax},
               .whole = [](const Bench& bench, const Numbers& x) { return largest_of(bench, x); },
               .ways = {}};
  e.ways.push_back(same_on_each(e, kPartial, Joined::Summed, false,
                                "The largest of a sum is not the sum of the largest: they are in different "
                                "columns."));
  e.ways.push_back(same_on_each(e, kByTokens, Joined::Rows, true, "The maximum belongs to one token."));
  e.ways.push_back(same_on_each(e, kByColumns, Joined::Largest, true,
                                "The largest of the ranks' largest is the largest of all. An all-reduce that "
                                "takes the maximum is enough."));
  return e;
}

Experiment target_experiment() {
  Experiment e{.name = "label's logit",
               .formula = "target = the logit in the label's column",
               .operand = "the logits",
               .ops = {Op::TargetLogit},
               .whole = [](const Bench& bench, const Numbers& x) { return targets_of(bench, x, 0); },
               .ways = {}};
  e.ways.push_back(same_on_each(e, kPartial, Joined::Summed, true,
                                "It picks one number of each token, and picked shares add up."));
  e.ways.push_back({.layout = kByTokens,
                    .name = {},
                    .joined = Joined::Rows,
                    .why = "The label belongs to one token.",
                    .on_rank = [](const Bench& bench, const Numbers& x, int rank) {
                      return targets_of(bench, x, bench.token_range(rank).begin);
                    }});
  e.ways.push_back({.layout = kByColumns,
                    .name = "zero where another rank has the label",
                    .joined = Joined::Summed,
                    .why = "One rank has the label's column, and all others add 0.",
                    .on_rank = [](const Bench& bench, const Numbers& x, int rank) {
                      return targets_of(bench, x, 0, bench.column_range(rank).begin);
                    }});
  return e;
}

Experiment exponentials_experiment() {
  Experiment e{.name = "sum of exponentials",
               .formula = "Σ exp(logit − max) of each token",
               .operand = "the logits",
               .ops = {Op::SumExp},
               .whole = [](const Bench& bench,
                           const Numbers& x) { return exponentials_of(bench, x, largest_of(bench, x)); },
               .ways = {}};
  e.ways.push_back(same_on_each(e, kPartial, Joined::Summed, false,
                                "exp is not linear: exp(a + b) is exp(a) times exp(b), not their sum."));
  e.ways.push_back(same_on_each(e, kByTokens, Joined::Rows, true, "The sum belongs to one token."));
  Way own = same_on_each(e, kByColumns, Joined::Summed, false,
                         "Each rank subtracts another maximum, so the ranks' sums are in different units and "
                         "may not be added.");
  own.name = "minus the largest of the own columns";
  e.ways.push_back(own);
  e.ways.push_back({.layout = kByColumns,
                    .name = "minus the largest over all ranks",
                    .joined = Joined::Summed,
                    .why = "With one maximum for all, it is a plain sum over the columns.",
                    .on_rank = [](const Bench& bench, const Numbers& x, int rank) {
                      return exponentials_of(bench, x, largest_over_ranks(bench),
                                             bench.column_range(rank).begin);
                    }});
  return e;
}

// softmax is the loss's gradient without labels, with weight 1.
Numbers loss_gradient(const Bench& bench, const Numbers& logits, const int32_t* labels, const Numbers& max,
                      const Numbers& sum, int64_t first) {
  Numbers weights(logits.rows, 1), dlogits(logits.rows, logits.cols);
  std::fill(weights.values.begin(), weights.values.end(), 1.0f);
  bench.device().cross_entropy_grad({.shard = shard_of(logits, first),
                                     .logits = logits.data(),
                                     .labels = labels,
                                     .max = max.data(),
                                     .sum = sum.data(),
                                     .weights = weights.data(),
                                     .dlogits = dlogits.data()});
  return dlogits;
}

Experiment softmax_experiment(bool is_gradient) {
  const auto labels = is_gradient ? kLabels.data() : kNoLabels.data();
  const auto alone = [=](const Bench& bench, const Numbers& x, int64_t first_token, int64_t first) {
    const Numbers max = largest_of(bench, x, first);
    return loss_gradient(bench, x, labels + first_token, max, exponentials_of(bench, x, max, first), first);
  };
  Experiment e{.name = is_gradient ? "loss gradient" : "softmax",
               .formula = is_gradient ? "dX = softmax(X) − [label]" : "Y = exp(X − max) / Σ exp(X − max)",
               .operand = "the logits",
               .ops = {Op::CrossEntropyGrad},
               .whole = [=](const Bench& bench, const Numbers& x) { return alone(bench, x, 0, 0); },
               .ways = {}};
  e.ways.push_back(same_on_each(e, kPartial, Joined::Summed, false,
                                "Each token's row of a softmax sums to 1. T rows summed sum to T, and exp is "
                                "not linear."));
  e.ways.push_back({.layout = kByTokens,
                    .name = {},
                    .joined = Joined::Rows,
                    .why = "A softmax is over the columns of one token, and whole tokens lie on a rank.",
                    .on_rank = [=](const Bench& bench, const Numbers& x, int rank) {
                      return alone(bench, x, bench.token_range(rank).begin, 0);
                    }});
  e.ways.push_back({.layout = kByColumns,
                    .name = "max and sum of the own columns",
                    .joined = Joined::Columns,
                    .why = "Each rank divides by the sum of its own columns, so each piece sums to 1 by "
                           "itself.",
                    .is_right = false,
                    .on_rank = [=](const Bench& bench, const Numbers& x, int rank) {
                      return alone(bench, x, 0, bench.column_range(rank).begin);
                    }});
  e.ways.push_back({.layout = kByColumns,
                    .name = "max and sum over all ranks",
                    .joined = Joined::Columns,
                    .why = "The maximum and the sum are two numbers a token. With them, each rank finishes its "
                           "own columns.",
                    .on_rank = [=](const Bench& bench, const Numbers& x, int rank) {
                      const Numbers max = largest_over_ranks(bench);
                      return loss_gradient(bench, x, labels, max, exponentials_over_ranks(bench, max),
                                           bench.column_range(rank).begin);
                    }});
  return e;
}

Numbers loss_of(const Bench& bench, const Numbers& max, const Numbers& target, const Numbers& sum) {
  Numbers weights(max.rows, 1), loss(1, 1);
  std::fill(weights.values.begin(), weights.values.end(), 1.0f);
  bench.device().cross_entropy({.tokens = max.rows,
                                .max = max.data(),
                                .target = target.data(),
                                .sum = sum.data(),
                                .weights = weights.data(),
                                .loss = loss.data()});
  return loss;
}

Experiment loss_experiment() {
  const auto alone = [](const Bench& bench, const Numbers& x, int64_t first_token, int64_t first) {
    const Numbers max = largest_of(bench, x, first);
    return loss_of(bench, max, targets_of(bench, x, first_token, first),
                   exponentials_of(bench, x, max, first));
  };
  Experiment e{.name = "loss",
               .formula = "loss = Σ (max + log Σ exp(X − max) − target)",
               .operand = "the logits",
               .ops = {Op::CrossEntropy},
               .whole = [=](const Bench& bench, const Numbers& x) { return alone(bench, x, 0, 0); },
               .ways = {}};
  e.ways.push_back(same_on_each(e, kPartial, Joined::Summed, false,
                                "Neither exp nor log is linear, so the loss of a share says nothing about the "
                                "loss of the sum."));
  e.ways.push_back({.layout = kByTokens,
                    .name = {},
                    .joined = Joined::Summed,
                    .why = "The loss is a sum over the tokens, and whole tokens lie on a rank.",
                    .on_rank = [=](const Bench& bench, const Numbers& x, int rank) {
                      return alone(bench, x, bench.token_range(rank).begin, 0);
                    }});
  e.ways.push_back({.layout = kByColumns,
                    .name = "each rank's own loss",
                    .joined = Joined::Summed,
                    .why = "A logarithm of a sum is not the sum of the logarithms.",
                    .is_right = false,
                    .on_rank = [=](const Bench& bench, const Numbers& x, int rank) {
                      return alone(bench, x, 0, bench.column_range(rank).begin);
                    }});
  e.ways.push_back({.layout = kByColumns,
                    .name = "three numbers a token over all ranks",
                    .joined = Joined::Alike,
                    .why = "Maximum, label's logit and sum of exponentials can each be reduced over the "
                           "ranks. Then every rank has the whole loss, and no logits were sent.",
                    .on_rank = [=](const Bench& bench, const Numbers&, int) {
                      const Numbers max = largest_over_ranks(bench);
                      const Numbers target = over_ranks(
                          bench, Joined::Summed, [&](const Numbers& logits, int64_t first) {
                            return targets_of(bench, logits, 0, first);
                          });
                      return loss_of(bench, max, target, exponentials_over_ranks(bench, max));
                    }});
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
  e.ways.push_back(same_on_each(e, kPartial, Joined::Summed, false,
                                "The square of a sum is not the sum of the squares: the products of different "
                                "shares are missing."));
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
  Experiment e{.name = "clip factor",
               .formula = "min(1, clip / √Σx²)",
               .operand = "a gradient",
               .ops = {Op::ClipFactor},
               .whole = [](const Bench& bench,
                           const Numbers& x) { return clip_factor(bench, squares_of(bench, x)); },
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
                      .why = "The squares are summed over the ranks first: one number. Then all ranks have the "
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
                            "AdamW divides a gradient by its own size. With a share, every rank steps another "
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

void add_model_experiments(std::vector<Experiment>& table) {
  table.push_back(softmax_experiment(false));
  table.push_back(embedding_experiment());
  table.push_back(table_gradient_experiment());
  table.push_back(first_token_experiment(false));
  table.push_back(first_token_experiment(true));
  table.push_back(largest_experiment());
  table.push_back(target_experiment());
  table.push_back(exponentials_experiment());
  table.push_back(loss_experiment());
  table.push_back(softmax_experiment(true));
  table.push_back(squares_experiment());
  table.push_back(clip_experiment());
  table.push_back(adamw_experiment());
}

}  // namespace shardlens::lab
