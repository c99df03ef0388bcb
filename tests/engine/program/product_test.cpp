// Products element by element: which pairs a rank multiplies, checked against plain matrix products.
#include "engine/program/product.h"

#include <gtest/gtest.h>

#include <map>

#include "engine/planner/planner.h"
#include "tests/engine/small_layer.h"

namespace shardlens {
namespace product_test {

using testing::small_layer;

Program program_of(const std::string& split, int tp) {
  return plan_program(small_layer(tp, split));
}

StepId step_named(const Program& program, const std::string& name) {
  for (const Step& step : program.steps)
    if (step.name == name) return step.id;
  throw std::logic_error("no step " + name);
}

/// How often each pair of an element is multiplied, over all ranks.
std::vector<int> counted_pairs(const Program& program, const Product& product, int64_t row, int64_t col) {
  std::vector<int> count(static_cast<size_t>(product_terms(program, product)));
  for (int rank = 0; rank < program.tp(); ++rank)
    for (const Range& range : pairs_of(program, product, rank, row, col))
      for (int64_t pair = range.begin; pair < range.end; ++pair) ++count[static_cast<size_t>(pair)];
  return count;
}

// Terms and whole numbers: over all ranks each pair is multiplied once. Copies: once on every rank.
TEST(Product, EveryPairIsMultipliedAsOftenAsItsCutSays) {
  for (const char* split : {"megatron", "megatron-sp", "reversed", "replicated", "row-row"}) {
    const Program program = program_of(split, 4);
    int products = 0;
    for (const Step& step : program.steps) {
      const std::optional<Product> product = product_of(program, step.id);
      if (!product) continue;
      ++products;
      const MatrixShape out = matrix_shape(program.tensor(product->out));
      const int times = sum_cut(program, *product) == SumCut::None ? 4 : 1;
      for (const auto& [row, col] :
           std::map<int64_t, int64_t>{{0, 0}, {out.rows - 1, out.cols - 1}, {out.rows / 2, out.cols / 3}})
        for (const int count : counted_pairs(program, *product, row, col))
          ASSERT_EQ(count, times) << split << " " << step.name << " " << row << " " << col;
    }
    EXPECT_GE(products, 12) << split;
  }
}

TEST(Product, TheSumIsCutAsTheResultsLayoutSays) {
  const Program megatron = program_of("megatron", 4), whole = program_of("replicated", 4);
  const auto cut = [](const Program& program, const char* name) {
    return sum_cut(program, *product_of(program, step_named(program, name)));
  };
  EXPECT_EQ(cut(megatron, "mlp.fc"), SumCut::Whole);
  EXPECT_EQ(cut(megatron, "mlp.proj"), SumCut::Terms);
  EXPECT_EQ(cut(megatron, "mlp.fc dX"), SumCut::Terms);
  EXPECT_EQ(cut(megatron, "mlp.proj dX"), SumCut::Whole);
  EXPECT_EQ(cut(whole, "mlp.proj"), SumCut::None);
  EXPECT_EQ(cut(program_of("megatron", 1), "mlp.proj"), SumCut::None);
}

TEST(Product, AnotherCutDividesTheSamePairs) {
  const Program program = program_of("megatron", 4);
  const Product fc = *product_of(program, step_named(program, "mlp.fc"));
  int64_t next = 0;
  for (int rank = 0; rank < 4; ++rank) {
    const std::vector<Range> pairs = pairs_if_cut(program, fc, SumCut::Terms, rank, 3, 5);
    ASSERT_EQ(pairs.size(), 1u);
    EXPECT_EQ(pairs[0].begin, next);
    next = pairs[0].end;
  }
  EXPECT_EQ(next, product_terms(program, fc));
  const Product proj = *product_of(program, step_named(program, "mlp.proj"));
  const int64_t cols = matrix_shape(program.tensor(proj.out)).cols;
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(pairs_if_cut(program, proj, SumCut::Whole, rank, 0, cols - 1).empty(), rank != 3);
}

TEST(Product, TheNextBendOfTheFirstMatrixIsGelu) {
  const Program reversed = program_of("reversed", 4), megatron = program_of("megatron", 4);
  const auto bend = [](const Program& program, const char* name) {
    return next_bend(program, product_of(program, step_named(program, name))->out);
  };
  ASSERT_GE(bend(reversed, "mlp.fc"), 0);
  EXPECT_EQ(reversed.step(bend(reversed, "mlp.fc")).op, Op::Gelu) << "past the all-reduce and the bias";
  EXPECT_EQ(megatron.step(bend(megatron, "attn.proj")).op, Op::LayerNorm);
  EXPECT_EQ(bend(megatron, "mlp.proj"), -1) << "the layer ends";
  EXPECT_FALSE(product_of(megatron, step_named(megatron, "mlp.gelu")));
}

}  // namespace product_test
}  // namespace shardlens
