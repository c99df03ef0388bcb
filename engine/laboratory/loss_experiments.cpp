// Experiments with the softmax and the loss over a vocabulary that is cut by columns.
#include <array>

#include "engine/laboratory/tables.h"

namespace shardlens::lab {
namespace {

constexpr std::array<int32_t, kTokens> kLabels{4, 15, 0, 9, 7, 2, 12, 10};
constexpr std::array<int32_t, kTokens> kNoLabels{-1, -1, -1, -1, -1, -1, -1, -1};

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
  bench.device().sum_exp(
      {.shard = shard_of(logits, first), .logits = logits.data(), .max = max.data(), .sum = sum.data()});
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
                                "It picks one number of each token, and picked terms add up."));
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
  own.name = "minus the largest of own columns";
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
                    .name = "max and sum of own columns",
                    .joined = Joined::Columns,
                    .why = "Each rank divides by the sum of its own columns, so each piece sums to 1 by "
                           "itself.",
                    .is_right = false,
                    .on_rank = [=](const Bench& bench, const Numbers& x, int rank) {
                      return alone(bench, x, 0, bench.column_range(rank).begin);
                    }});
  e.ways.push_back(
      {.layout = kByColumns,
       .name = "max and sum over all ranks",
       .joined = Joined::Columns,
       .why = "The maximum and the sum are two numbers per token. With them, each rank finishes its "
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
                                "Neither exp nor log is linear, so the loss of a term says nothing about the "
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
                    .name = "three numbers per token over all ranks",
                    .joined = Joined::Alike,
                    .why = "Maximum, label's logit and sum of exponentials can each be reduced over the "
                           "ranks. Then every rank has the whole loss, and no logits were sent.",
                    .on_rank = [=](const Bench& bench, const Numbers&, int) {
                      const Numbers max = largest_over_ranks(bench);
                      const Numbers target =
                          over_ranks(bench, Joined::Summed, [&](const Numbers& logits, int64_t first) {
                            return targets_of(bench, logits, 0, first);
                          });
                      return loss_of(bench, max, target, exponentials_over_ranks(bench, max));
                    }});
  return e;
}

}  // namespace

void add_loss_experiments(std::vector<Experiment>& table) {
  table.push_back(softmax_experiment(false));
  table.push_back(largest_experiment());
  table.push_back(target_experiment());
  table.push_back(exponentials_experiment());
  table.push_back(loss_experiment());
  table.push_back(softmax_experiment(true));
}

}  // namespace shardlens::lab
