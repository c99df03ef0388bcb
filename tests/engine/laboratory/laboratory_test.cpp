// Every way of every experiment does what its sentence says, on any number of ranks.
#include "engine/laboratory/laboratory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/base/error.h"

namespace shardlens::lab {
namespace laboratory_test {

const Experiment& experiment(const std::string& name) {
  const auto found = std::find_if(experiments().begin(), experiments().end(),
                                  [&](const Experiment& e) { return e.name == name; });
  if (found == experiments().end()) throw std::logic_error("no experiment " + name);
  return *found;
}

const Way& way(const Experiment& e, Layout layout, const std::string& name = {}) {
  const auto found = std::find_if(e.ways.begin(), e.ways.end(), [&](const Way& w) {
    return w.layout == layout && (name.empty() || w.name == name);
  });
  if (found == e.ways.end()) throw std::logic_error(e.name + " has no way " + name);
  return *found;
}

TEST(Laboratory, EveryReasonAgreesWithTheRun) {
  for (const Experiment& e : experiments()) {
    for (const Way& w : e.ways) {
      for (int ranks = kFewestRanks; ranks <= kMostRanks; ++ranks) {
        const Outcome outcome = run(e, w, ranks);
        const std::string where =
            fmt::format("{}, {}, {}, T = {}: {} of {}", e.name, to_string(w.layout), w.name, ranks,
                        outcome.largest_difference, outcome.largest_number);
        EXPECT_EQ(outcome.verdict != Verdict::Wrong, w.is_right) << where;
        // Nothing lies near the line between rounding and wrong.
        const double share = outcome.largest_difference / outcome.largest_number;
        EXPECT_TRUE(share < kRounding / 5 || share > 100 * kRounding) << where;
        EXPECT_EQ(outcome.together.rows, outcome.whole.rows) << where;
        EXPECT_EQ(outcome.together.cols, outcome.whole.cols) << where;
        EXPECT_GT(outcome.largest_number, 0) << where;
      }
    }
  }
}

TEST(Laboratory, HasEveryOperationThatComputes) {
  std::set<Op> run_here;
  for (const Experiment& e : experiments()) run_here.insert(e.ops.begin(), e.ops.end());
  for (const Operation& row : operations()) {
    const bool computes = row.kind != OpKind::Conversion && row.kind != OpKind::Alias;
    EXPECT_EQ(run_here.count(row.op) > 0, computes) << row.name;
  }
}

TEST(Laboratory, EveryExperimentHasSharesAndPieces) {
  for (const Experiment& e : experiments()) {
    std::set<LayoutKind> kinds;
    std::set<std::string> names;
    for (const Way& w : e.ways) {
      kinds.insert(w.layout.kind);
      EXPECT_TRUE(names.insert(to_string(w.layout) + w.name).second) << e.name << ": two ways " << w.name;
      EXPECT_TRUE(w.why.ends_with(".")) << w.why;
    }
    EXPECT_TRUE(kinds.count(LayoutKind::Partial) && kinds.count(LayoutKind::Sharded)) << e.name;
  }
}

// The numbers of a bias that every rank adds: the result is (T - 1) b too large.
TEST(Laboratory, TheBiasOnEveryRankIsAddedTTimes) {
  const Experiment& bias = experiment("bias");
  for (const int ranks : {2, 5, 8}) {
    const Outcome wrong = run(bias, way(bias, kPartial, "b on every rank"), ranks);
    const Numbers b = Bench(ranks).drawn("bias", 1, kHidden);
    for (int64_t row = 0; row < kTokens; ++row)
      for (int64_t col = 0; col < kHidden; ++col)
        EXPECT_NEAR(wrong.difference.at(row, col), static_cast<float>(ranks - 1) * b.at(0, col), 2e-5);
    EXPECT_NE(run(bias, way(bias, kPartial, "b/T on every rank"), ranks).verdict, Verdict::Wrong);
    EXPECT_NE(run(bias, way(bias, kPartial, "b on rank 0 alone"), ranks).verdict, Verdict::Wrong);
  }
}

// Against the definition of GeLU in fp64, not against the engine's kernel.
TEST(Laboratory, TheGeluOfASumIsNotTheSumOfGelus) {
  const auto gelu = [](double x) {
    return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
  };
  const Experiment& e = experiment("GeLU");
  const Outcome outcome = run(e, way(e, kPartial), 3);
  for (int64_t row = 0; row < kTokens; ++row)
    for (int64_t col = 0; col < kHidden; ++col) {
      double sum = 0, of_shares = 0;
      for (const Numbers& held : outcome.held) {
        sum += held.at(row, col);
        of_shares += gelu(held.at(row, col));
      }
      EXPECT_NEAR(outcome.difference.at(row, col), of_shares - gelu(sum), 1e-5);
    }
}

TEST(Laboratory, ASoftmaxOfThePiecesSumsToTheNumberOfRanks) {
  const Experiment& e = experiment("softmax");
  const Outcome own = run(e, way(e, sharded(1), "max and sum of own columns"), 4),
                together = run(e, way(e, sharded(1), "max and sum over all ranks"), 4);
  for (int64_t row = 0; row < kTokens; ++row) {
    double of_pieces = 0, of_all = 0;
    for (int64_t col = 0; col < kHidden; ++col) {
      of_pieces += own.together.at(row, col);
      of_all += together.together.at(row, col);
    }
    EXPECT_NEAR(of_pieces, 4, 1e-5);
    EXPECT_NEAR(of_all, 1, 1e-5);
  }
}

TEST(Laboratory, ThePartsOfXAddUpToX) {
  for (const Layout layout : {kPartial, sharded(0), sharded(1)}) {
    const Bench bench(5);
    std::vector<Numbers> parts;
    for (int rank = 0; rank < bench.ranks(); ++rank) parts.push_back(bench.held(layout, rank));
    const Joined how = layout == kPartial ? Joined::Summed : layout.dim == 0 ? Joined::Rows : Joined::Columns;
    EXPECT_EQ(bench.joined(parts, how).values, bench.x().values) << to_string(layout);
  }
}

TEST(Laboratory, GivesTheSameNumbersAgain) {
  const Experiment& e = experiment("LayerNorm");
  EXPECT_EQ(run(e, e.ways.front(), 4).together.values, run(e, e.ways.front(), 4).together.values);
}

TEST(Laboratory, RefusesOtherNumbersOfRanks) {
  const Experiment& e = experiment("product");
  for (const int ranks : {-1, 0, 1, 9}) EXPECT_THROW(run(e, e.ways.front(), ranks), Error) << ranks;
}

}  // namespace laboratory_test
}  // namespace shardlens::lab
