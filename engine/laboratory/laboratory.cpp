// Runs an experiment and measures the difference.
#include "engine/laboratory/laboratory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/error.h"
#include "engine/laboratory/tables.h"

namespace shardlens::lab {
namespace {

double largest(const Numbers& numbers) {
  double most = 0;
  for (const float value : numbers.values) {
    if (!std::isfinite(value)) return std::numeric_limits<double>::infinity();
    most = std::max(most, std::abs(static_cast<double>(value)));
  }
  return most;
}

Numbers difference_of(const Numbers& a, const Numbers& b) {
  Numbers difference(a.rows, a.cols);
  std::transform(a.values.begin(), a.values.end(), b.values.begin(), difference.values.begin(),
                 [](float x, float y) { return x - y; });
  return difference;
}

// Of results that should all be the whole one: the one that differs most from it.
Numbers furthest_from(const Numbers& whole, const std::vector<Numbers>& results) {
  return *std::max_element(results.begin(), results.end(), [&](const Numbers& a, const Numbers& b) {
    return largest(difference_of(a, whole)) < largest(difference_of(b, whole));
  });
}

}  // namespace

std::span<const Experiment> experiments() {
  static const std::vector<Experiment> all = [] {
    std::vector<Experiment> table;
    add_product_experiments(table);
    add_layer_experiments(table);
    add_norm_experiments(table);
    add_attention_experiments(table);
    add_embedding_experiments(table);
    add_loss_experiments(table);
    add_optimizer_experiments(table);
    return table;
  }();
  return all;
}

std::string to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::Exact:
      return "exact";
    case Verdict::Rounding:
      return "rounding";
    case Verdict::Wrong:
      break;
  }
  return "wrong";
}

Outcome run(const Experiment& experiment, const Way& way, int ranks) {
  if (ranks < kFewestRanks || ranks > kMostRanks)
    throw request_error(fmt::format("the laboratory compares {} to {} ranks with one: T = {} is not possible",
                                    kFewestRanks, kMostRanks, ranks));
  const Bench bench(ranks);
  Outcome outcome;
  outcome.ranks = ranks;
  outcome.x = bench.x();
  for (int rank = 0; rank < ranks; ++rank) {
    outcome.held.push_back(bench.held(way.layout, rank));
    outcome.results.push_back(way.on_rank(bench, outcome.held.back(), rank));
    outcome.largest_number = std::max(outcome.largest_number, largest(outcome.results.back()));
  }
  outcome.whole = experiment.whole(bench, bench.x());
  outcome.together = way.joined == Joined::Alike ? furthest_from(outcome.whole, outcome.results)
                                                 : bench.joined(outcome.results, way.joined);
  outcome.difference = difference_of(outcome.together, outcome.whole);
  outcome.largest_difference = largest(outcome.difference);
  outcome.largest_number =
      std::max({outcome.largest_number, largest(outcome.whole), largest(outcome.together)});
  outcome.verdict = outcome.largest_difference == 0                                    ? Verdict::Exact
                    : outcome.largest_difference <= kRounding * outcome.largest_number ? Verdict::Rounding
                                                                                       : Verdict::Wrong;
  return outcome;
}

std::string question_of(const Way& way) {
  const char* ranks = way.layout.kind == LayoutKind::Partial   ? "f of each term"
                      : way.layout.kind == LayoutKind::Sharded ? "f of each piece"
                                                               : "f on each rank";
  const char* whole = way.layout.kind == LayoutKind::Partial ? "f of the sum" : "f of the whole";
  return fmt::format("{}, {}, against {}", ranks, to_string(way.joined), whole);
}

}  // namespace shardlens::lab
