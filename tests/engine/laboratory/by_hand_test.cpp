// The example "by hand", against products that this file computes itself.
#include "engine/laboratory/by_hand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/base/error.h"
#include "engine/laboratory/worked_by_hand.h"
#include "engine/runtime/snapshot.h"

namespace shardlens::lab {
namespace by_hand_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr size_t kSize = kHandSize;

struct Matrix {
  size_t rows = kSize, cols = kSize;
  std::vector<double> values;
  Matrix(size_t rows_, size_t cols_) : rows(rows_), cols(cols_), values(rows_ * cols_) {}
  double& operator()(size_t r, size_t c) { return values[r * cols + c]; }
  double operator()(size_t r, size_t c) const { return values[r * cols + c]; }
};

Matrix typed(const HandOperands& operands, HandOperand which) {
  Matrix m(static_cast<size_t>(rows_of(which)), kSize);
  for (size_t r = 0; r < m.rows; ++r)
    for (size_t c = 0; c < kSize; ++c)
      m(r, c) = operands.at(which, static_cast<int64_t>(r), static_cast<int64_t>(c));
  return m;
}

Matrix turned(const Matrix& m) {
  Matrix t(m.cols, m.rows);
  for (size_t r = 0; r < m.rows; ++r)
    for (size_t c = 0; c < m.cols; ++c) t(c, r) = m(r, c);
  return t;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix y(a.rows, b.cols);
  for (size_t r = 0; r < a.rows; ++r)
    for (size_t c = 0; c < b.cols; ++c)
      for (size_t k = 0; k < a.cols; ++k) y(r, c) += a(r, k) * b(k, c);
  return y;
}

Matrix plus(Matrix x, const Matrix& bias) {
  for (size_t r = 0; r < x.rows; ++r)
    for (size_t c = 0; c < x.cols; ++c) x(r, c) += bias(0, c);
  return x;
}

Matrix column_sums(const Matrix& x) {
  Matrix sums(1, x.cols);
  for (size_t r = 0; r < x.rows; ++r)
    for (size_t c = 0; c < x.cols; ++c) sums(0, c) += x(r, c);
  return sums;
}

double slow_gelu(double x) {
  return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

/// The difference quotient: no formula that could share a mistake with the engine's.
double slow_slope(double x) {
  constexpr double kStep = 1e-5;
  return (slow_gelu(x + kStep) - slow_gelu(x - kStep)) / (2 * kStep);
}

/// Every value of the block by Tensor::value.
std::map<std::string, Matrix> computed(const HandOperands& o, bool gelu) {
  const Matrix x = typed(o, HandOperand::X), w1 = typed(o, HandOperand::Wfc),
               w2 = typed(o, HandOperand::Wproj), dy = typed(o, HandOperand::Dy);
  const Matrix h = plus(product(x, w1), typed(o, HandOperand::FcBias));
  Matrix g = h;
  if (gelu) std::transform(h.values.begin(), h.values.end(), g.values.begin(), slow_gelu);
  const Matrix z = product(g, w2), dg = product(dy, turned(w2));
  Matrix dh = dg;
  for (size_t i = 0; gelu && i < dh.values.size(); ++i) dh.values[i] *= slow_slope(h.values[i]);
  const std::string fc = tensor_name(HandOperand::Wfc), proj = tensor_name(HandOperand::Wproj);
  return {{"mlp.fc.out", h},
          {"mlp.gelu", g},
          {"mlp.proj.sum", z},
          {"mlp.proj.out", plus(z, typed(o, HandOperand::ProjBias))},
          {"grad.mlp.gelu", dg},
          {"grad.mlp.fc.out", dh},
          {"grad.X", product(dh, turned(w1))},
          {"grad." + fc, product(turned(x), dh)},
          {"grad." + tensor_name(HandOperand::FcBias), column_sums(dh)},
          {"grad." + proj, product(turned(g), dy)},
          {"grad." + tensor_name(HandOperand::ProjBias), column_sums(dy)}};
}

std::vector<HandChoice> every_cut(bool gelu) {
  std::vector<HandChoice> all;
  for (const Cut fc : {Cut::Column, Cut::Row, Cut::Replicated})
    for (const Cut proj : {Cut::Column, Cut::Row, Cut::Replicated})
      for (const NormCut stream : {NormCut::Replicated, NormCut::Parallel, NormCut::Sequence})
        all.push_back({.fc = fc, .proj = proj, .stream = stream, .gelu = gelu});
  return all;
}

std::string words(const HandChoice& choice) {
  return to_string(choice.fc) + ", " + to_string(choice.proj) + ", " + to_string(choice.stream);
}

/// Compares every number of every rank with the computed ones. Returns how many numbers were compared.
int expect_all(const HandRun& run, double tolerance) {
  int compared = 0;
  const std::map<std::string, Matrix> wanted = computed(run.operands, run.choice.gelu);
  for (const Tensor& tensor : run.program().tensors) {
    const auto found = wanted.find(tensor.value);
    if (found == wanted.end()) continue;
    for (int rank = 0; rank < kHandRanks; ++rank)
      for (size_t r = 0; r < found->second.rows; ++r)
        for (size_t c = 0; c < found->second.cols; ++c) {
          const auto row = static_cast<int64_t>(r), col = static_cast<int64_t>(c);
          const auto value = run.value(tensor.id, rank, row, col);
          if (!value) continue;
          ++compared;
          EXPECT_NEAR(*value, found->second(r, c), tolerance)
              << words(run.choice) << ", " << tensor.name << " on rank " << rank << " at " << r << ", " << c;
          EXPECT_FALSE(run.is_wrong(tensor.id, rank, row, col)) << tensor.name;
        }
  }
  return compared;
}

TEST(ByHand, WithoutGeluEveryNumberOfEveryCutIsTheIntegerOfOneRank) {
  for (const uint64_t seed : {1u, 2u})
    for (const HandChoice& choice : every_cut(false)) {
      const auto run = run_by_hand(hand_operands(HandNumbers::Random, seed), choice);
      EXPECT_GE(expect_all(*run, 0), 9 * 16 + 2 * 4) << words(choice);
      EXPECT_EQ(run->first_wrong(), -1) << words(choice);
    }
}

TEST(ByHand, WithGeluTheNumbersAreThoseOfItsDefinition) {
  for (const HandChoice& choice : every_cut(true)) {
    const auto run = run_by_hand(hand_operands(HandNumbers::Chosen), choice);
    EXPECT_GE(expect_all(*run, 1e-7), 9 * 16 + 2 * 4) << words(choice);
    EXPECT_EQ(run->first_wrong(), -1) << words(choice);
  }
}

TEST(ByHand, EveryLayoutIsHeldAsItsNameSays) {
  bool any_partial = false, any_rows = false, any_columns = false;
  for (const HandChoice& choice : every_cut(false)) {
    const auto run = run_by_hand(hand_operands(HandNumbers::Chosen), choice);
    for (const Tensor& tensor : run->program().tensors) {
      if (run->of(tensor.id).ranks[0].values.empty() || tensor.shape.size() != 2) continue;
      int held = 0;
      for (int64_t row = 0; row < kHandSize; ++row)
        for (int64_t col = 0; col < kHandSize; ++col)
          for (const HandPiece& piece : run->of(tensor.id).ranks) held += piece.at(row, col) ? 1 : 0;
      const bool cut = tensor.layout.kind == LayoutKind::Sharded;
      EXPECT_EQ(held, cut ? 16 : 32) << tensor.name;
      any_partial |= tensor.layout.kind == LayoutKind::Partial;
      any_rows |= cut && tensor.layout.dim == 0;
      any_columns |= cut && tensor.layout.dim == 1;
    }
  }
  EXPECT_TRUE(any_partial && any_rows && any_columns);
}

TEST(ByHand, WhatIsTypedIsWhatRuns) {
  HandOperands operands = hand_operands(HandNumbers::Identity);
  const auto y_of = [&] {
    const auto run = run_by_hand(operands, {.gelu = false});
    for (const Tensor& tensor : run->program().tensors)
      if (tensor.name == "mlp.proj.out") return run->of(tensor.id).ranks[1].values;
    return std::vector<double>();
  };
  EXPECT_EQ(y_of(), typed(operands, HandOperand::X).values) << "X times two identities";
  type_into(operands, HandOperand::X, 2, 1, "-7");
  type_into(operands, HandOperand::ProjBias, 0, 1, "5");
  const std::vector<double> y = y_of();
  EXPECT_EQ(y[2 * kSize + 1], -2);
  EXPECT_EQ(y[0 * kSize + 1], 5);
  EXPECT_EQ(y[3 * kSize + 3], 1);
}

TEST(ByHand, RowsOfNumbersArePastedAsASpreadsheetCopiesThem) {
  HandOperands operands;
  type_into(operands, HandOperand::Wfc, 1, 2, "1\t\u22122\r\n+3, 4;\n\n");
  EXPECT_EQ(operands.at(HandOperand::Wfc, 1, 2), 1);
  EXPECT_EQ(operands.at(HandOperand::Wfc, 1, 3), -2);
  EXPECT_EQ(operands.at(HandOperand::Wfc, 2, 2), 3);
  EXPECT_EQ(operands.at(HandOperand::Wfc, 2, 3), 4);
  EXPECT_EQ(operands.at(HandOperand::Wfc, 3, 2), 0);
}

TEST(ByHand, BadNumbersAreRefusedAndChangeNothing) {
  const struct {
    const char *text, *said;
    HandOperand operand = HandOperand::X;
    int64_t row = 0, col = 0;
  } cases[] = {{"10", "“10” is too large"},
               {"-99999999999999", "too large"},
               {"1.5", "“1.5” is no whole number"},
               {"x", "“x” is no whole number"},
               {"-", "“-” is no whole number"},
               {"", "there is no number"},
               {"1 2 3", "3 numbers from column 2 on", HandOperand::X, 0, 2},
               {"1\n2", "2 rows from row 3 on", HandOperand::Wfc, 3, 0},
               {"1\n2", "b of Wfc, which has 1", HandOperand::FcBias, 0, 0},
               {"1 2\n3 y", "“y”", HandOperand::X, 0, 0}};
  for (const auto& c : cases) {
    HandOperands operands = hand_operands(HandNumbers::Ones);
    try {
      type_into(operands, c.operand, c.row, c.col, c.text);
      ADD_FAILURE() << c.text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Request);
      EXPECT_THAT(error.what(), HasSubstr(c.said));
    }
    EXPECT_EQ(operands, hand_operands(HandNumbers::Ones)) << c.text;
  }
}

std::string step_name(const HandRun& run) {
  const StepId first = run.first_wrong();
  return first < 0 ? "none" : run.program().step(first).name;
}

TEST(ByHand, AMistakeIsWrongFromItsPlaceOn) {
  const HandOperands operands = hand_operands(HandNumbers::Chosen);
  const HandChoice megatron, reversed{.fc = Cut::Row, .proj = Cut::Column};
  const auto first_wrong = [&](HandChoice choice, Fault mistake) {
    choice.mistake = mistake;
    return step_name(*run_by_hand(operands, choice));
  };
  EXPECT_EQ(first_wrong(megatron, Fault::SkipG), "all-reduce mlp.proj.sum");
  EXPECT_EQ(first_wrong(megatron, Fault::BiasBeforeReduction), "mlp.proj bias");
  EXPECT_EQ(first_wrong(megatron, Fault::SkipF), "all-reduce grad.X");
  EXPECT_EQ(first_wrong(megatron, Fault::ReduceCopy), "mlp.proj bias");
  EXPECT_EQ(first_wrong(reversed, Fault::GeluOnPartial), "mlp.gelu");
  EXPECT_EQ(first_wrong(reversed, Fault::SkipG), "all-reduce mlp.fc.sum");
  EXPECT_FALSE(can_have(megatron, Fault::GeluOnPartial));
  EXPECT_FALSE(can_have({.fc = Cut::Row, .proj = Cut::Column, .gelu = false}, Fault::GeluOnPartial));
  EXPECT_FALSE(can_have({.fc = Cut::Replicated, .proj = Cut::Replicated}, Fault::SkipF));
  EXPECT_THROW(run_by_hand(operands, {.mistake = Fault::GeluOnPartial}), Error);
}

/// The number of the first tensor of this name that a step writes.
Worked worked(const HandRun& run, const std::string& name, int64_t row, int64_t col) {
  for (const Tensor& tensor : run.program().tensors)
    if (tensor.name == name) return work_out(run, producer_of(run.program(), tensor.id), tensor.id, row, col);
  throw std::logic_error("no tensor " + name);
}

TEST(ByHand, ANumberIsWrittenOutAsRanksMadeIt) {
  HandOperands operands = hand_operands(HandNumbers::Identity);
  type_into(operands, HandOperand::X, 0, 0, "1 0 3 2");
  type_into(operands, HandOperand::Wfc, 0, 0, "1 2 0 0\n0 1 0 0\n0 -1 1 0\n0 2 0 1");
  type_into(operands, HandOperand::FcBias, 0, 1, "4");
  const auto run = run_by_hand(operands, {.fc = Cut::Row, .proj = Cut::Column, .gelu = false});
  const Worked h = worked(*run, "mlp.fc.sum@partial", 0, 1);
  ASSERT_EQ(h.lines.size(), 4u);
  EXPECT_EQ(h.lines[0].sum, "1·2 + 0·1 = 2");
  EXPECT_EQ(h.lines[1].sum, "3·(−1) + 2·2 = 1");
  EXPECT_EQ(h.lines[2].sum, "2 + 1 = 3");
  EXPECT_EQ(h.lines[3].sum, "3");
  ASSERT_EQ(h.terms.size(), 1u);
  EXPECT_EQ(h.terms[0].of_terms, "(2 + 4) + (1 + 4) = 11");
  EXPECT_EQ(h.terms[0].of_sum, "(2 + 1) + 4 = 7");
  EXPECT_FALSE(h.terms[0].is_same);
  const Worked dw = worked(*run, "grad." + tensor_name(HandOperand::Wfc), 2, 0);
  EXPECT_EQ(dw.lines[0].words, "rank 1") << "row 2 of dWfc lies there";
  EXPECT_EQ(dw.lines[0].sum, "3·1 + 0·0 + 1·0 + 0·0 = 3");
}

TEST(ByHand, TheGeluOfATermIsComparedWithTheGeluOfTheSum) {
  const HandOperands operands = hand_operands(HandNumbers::Chosen);
  HandChoice choice{.fc = Cut::Row, .proj = Cut::Column};
  const auto sound = run_by_hand(operands, choice);
  choice.mistake = Fault::GeluOnPartial;
  const auto broken = run_by_hand(operands, choice);
  int differ = 0;
  for (int64_t row = 0; row < kHandSize; ++row)
    for (int64_t col = 0; col < kHandSize; ++col) {
      const Worked right = worked(*sound, "mlp.gelu", row, col),
                   wrong = worked(*broken, "mlp.gelu", row, col);
      ASSERT_EQ(right.terms.size(), 2u);
      EXPECT_EQ(right.terms[1].of_terms, wrong.terms[1].of_terms) << "the sum of both is not touched";
      // The comparison says of the sound run what the broken one then does.
      EXPECT_EQ(right.terms[1].is_same, !wrong.lines[2].is_wrong) << row << ", " << col;
      EXPECT_THAT(right.terms[1].of_terms,
                  HasSubstr(wrong.lines[2].sum.substr(wrong.lines[2].sum.rfind(' '))));
      differ += right.terms[1].is_same ? 0 : 1;
    }
  EXPECT_GT(differ, 8);
}

TEST(ByHand, ASumThatIsLeftOutIsCalledSo) {
  const auto run = run_by_hand(hand_operands(HandNumbers::Chosen), {.mistake = Fault::SkipG});
  const Program& program = run->program();
  EXPECT_EQ(equation_of(program, program.step(run->first_wrong())), "no all-reduce(Z)");
  const Worked z = worked(*run, "mlp.proj.sum", 0, 0);
  EXPECT_EQ(z.lines[0].sum, "1.68, as it was: the terms are not summed");
  EXPECT_TRUE(z.lines[0].is_wrong && z.lines[1].is_wrong);
}

TEST(ByHand, WhatACollectiveMovesIsWrittenOut) {
  const HandChoice by_tokens{.stream = NormCut::Sequence, .gelu = false};
  const auto run = run_by_hand(hand_operands(HandNumbers::Ones), by_tokens);
  const Worked y = worked(*run, "mlp.proj.sum", 3, 0);  // of row 3, which rank 1 then holds
  ASSERT_EQ(y.lines.size(), 4u);
  EXPECT_EQ(y.equation, "reduce-scatter(Z)");
  EXPECT_EQ(y.lines[0].sum, "its term is 10");
  EXPECT_EQ(y.lines[2].words, "then rank 1");
  EXPECT_EQ(y.lines[2].sum, "10 + 10 = 20");
}

TEST(ByHand, ATermMayBeMultipliedByTheSlopeOfGelu) {
  const HandOperands operands = hand_operands(HandNumbers::Chosen);
  const auto run = run_by_hand(operands, {.fc = Cut::Row, .proj = Cut::Column});
  for (int64_t row = 0; row < kHandSize; ++row)
    for (int64_t col = 0; col < kHandSize; ++col) {
      const Worked dh = worked(*run, "grad.mlp.fc.out", row, col);
      ASSERT_EQ(dh.terms.size(), 1u);
      EXPECT_TRUE(dh.terms[0].is_same);
      const std::string &held = dh.lines[0].sum, &worked_out = dh.terms[0].of_sum;
      EXPECT_EQ(worked_out.substr(worked_out.rfind(' ')), held.substr(held.rfind(' '))) << row << ", " << col;
    }
}

TEST(ByHand, NumbersHaveTwoDecimalsIfTheyNeedThem) {
  EXPECT_EQ(hand_text(3), "3");
  EXPECT_EQ(hand_text(-2), "−2");
  EXPECT_EQ(hand_text(-0.0), "0");
  EXPECT_EQ(hand_text(0.8412), "0.84");
  EXPECT_EQ(hand_text(-1.999), "−2.00");
  EXPECT_EQ(hand_text(-0.001), "0.00");
  EXPECT_EQ(in_brackets(-2), "(−2)");
  EXPECT_EQ(added_up({1, -2, 3.5}), "1 − 2 + 3.50");
}

}  // namespace by_hand_test
}  // namespace shardlens::lab
