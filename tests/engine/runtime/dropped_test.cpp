// The probabilities that are said to be dropped are those without which the run's own P and V make its C.
#include "engine/runtime/dropped.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/record/sample.h"
#include "engine/runtime/execute.h"
#include "engine/runtime/gather.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace dropped_test {

struct Ran {
  std::shared_ptr<const Plan> plan;
  std::map<std::string, GatheredTensor> tensors;
  const Step* attention = nullptr;

  const Program& program() const { return plan->program; }
  double at(TensorId id, int64_t index) const {
    return element_of(DType::Fp64, tensors.at(program().tensor(id).name).bytes.data(), index);
  }
};

Ran run_with_dropout(int tp, double dropout) {
  Settings settings = testing::small_model(tp);
  settings.dtype = DType::Fp64;
  settings.update = false;
  settings.dropout = dropout;
  settings.batch = 2;
  settings.model.heads = 4;
  Ran ran{make_plan(settings), {}, nullptr};
  const auto gather = std::make_shared<Gather>(tp, [](const Tensor&) { return true; });
  testing::run(ran.plan, {gather});
  ran.tensors = gather->tensors();
  for (const Step& step : ran.program().steps)
    if (step.op == Op::Attention && ran.attention == nullptr) ran.attention = &step;
  return ran;
}

TEST(DroppedProbabilities, AreThoseThatTheRunLeftOut) {
  constexpr double kDropout = 0.3;
  const Ran ran = run_with_dropout(2, kDropout);
  const Program& program = ran.program();
  const TensorId qkv = input_of(program, *ran.attention, Operand::Q),
                 p = output_of(program, *ran.attention, Operand::Saved), c = ran.attention->outputs.front();
  const Shape& q = program.tensor(qkv).shape;  // [tokens, 3, heads, head_dim]
  const int64_t sequences = ran.attention->attributes.batch, seq = q[0] / sequences, heads = q[2],
                width = q[3];
  ASSERT_EQ(program.tensor(p).shape, (Shape{q[0], heads, seq}));
  int64_t dropped = 0, seen = 0;
  for (int64_t sequence = 0; sequence < sequences; ++sequence)
    for (int64_t head = 0; head < heads; ++head) {
      const int rank = static_cast<int>(head * program.tp() / heads);
      const std::vector<bool> out =
          dropped_probabilities(program, *ran.attention, rank, sequence, head, seq, seq, PassNumbers().draw);
      ASSERT_EQ(out.size(), static_cast<size_t>(seq * seq));
      for (int64_t query = 0; query < seq; ++query)
        for (int64_t i = 0; i < width; ++i) {
          const int64_t token = sequence * seq + query;
          double sum = 0;
          for (int64_t key = 0; key <= query; ++key) {
            const int64_t value = (((sequence * seq + key) * 3 + 2) * heads + head) * width + i;
            const bool is_out = out[static_cast<size_t>(query * seq + key)];
            dropped += is_out && i == 0;
            seen += i == 0;
            if (!is_out)
              sum += ran.at(p, (token * heads + head) * seq + key) * ran.at(qkv, value) / (1 - kDropout);
          }
          EXPECT_NEAR(ran.at(c, (token * heads + head) * width + i), sum, 1e-12);
        }
    }
  EXPECT_NEAR(static_cast<double>(dropped) / static_cast<double>(seen), kDropout, 0.1);
}

TEST(DroppedProbabilities, AreNoneWithoutDropout) {
  const Ran ran = run_with_dropout(2, 0);
  EXPECT_TRUE(dropped_probabilities(ran.program(), *ran.attention, 0, 0, 0, 4, 4, 0).empty());
}

// Two ranks of the planted mistake have the same part of the mask; two heads of a sound run do not.
TEST(DroppedProbabilities, OfTheMistakeAreTheSameOnEveryRank) {
  Ran ran = run_with_dropout(2, 0.3);
  Step step = *ran.attention;
  const int64_t heads = ran.program().tensor(input_of(ran.program(), step, Operand::Q)).shape[2];
  const auto of = [&](int rank) {
    return dropped_probabilities(ran.program(), step, rank, 0, rank * heads / 2, 16, 16, 0);
  };
  EXPECT_NE(of(0), of(1));
  step.attributes.mask_draw = MaskDraw::OneStream;
  EXPECT_EQ(of(0), of(1));
}

}  // namespace dropped_test
}  // namespace shardlens
