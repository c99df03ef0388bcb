// Overlapped all-reduces: that of an input gradient while the weight's gradient is computed, and that of a
// row-parallel product in parts. Tests the Program's steps, and that the result equals the unsplit product.
#include "engine/planner/overlap.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/planner/memory_plan.h"
#include "engine/program/overlap_waits.h"
#include "engine/program/program_json.h"
#include "tests/engine/holds_the_lane.h"
#include "tests/engine/parity_outcome.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace overlap_test {

using testing::compare;
using testing::Outcome;
using testing::run;
using testing::small_layer;
using testing::small_model;

Settings in_chunks(Settings settings, int chunks) {
  settings.overlap_chunks = chunks;
  return settings;
}

int count(const Program& program, Op op, bool beside) {
  return static_cast<int>(std::count_if(program.steps.begin(), program.steps.end(), [&](const Step& step) {
    return step.op == op && step.overlapped == beside;
  }));
}

// [step]: a sum of a dX that goes on beside the steps.
bool is_sum_of_dx(const Program& program, const Step& step) {
  return step.overlapped && step.axis == Axis::Tp && step.op == Op::AllReduce &&
         program.step(producer_of(program, step.inputs[0])).op == Op::LinearGradInput;
}

TEST(Overlap, AnInputGradientIsSummedWhileTheWeightsIsComputed) {
  for (const Program& program : {plan_program(small_layer(3)), plan_program(small_model(2))}) {
    int sums = 0;
    for (const Step& step : program.steps) {
      if (step.conjugate == Conjugate::F && step.op == Op::AllReduce) {
        // But for the logits', whose weight's gradient waits for the embedding's.
        EXPECT_EQ(is_sum_of_dx(program, step), step.layer >= 0 || program.tp() == 3) << step.name;
        EXPECT_EQ(program.step(step.pair).pair, step.id);
      }
      if (!is_sum_of_dx(program, step)) continue;
      ++sums;
      EXPECT_EQ(producer_of(program, step.inputs[0]), step.id - 1);
      EXPECT_EQ(program.step(step.id + 1).op, Op::LinearGradWeight);
      EXPECT_GT(consumers_of(program, step.outputs[0]).front(), step.id + 1);
    }
    EXPECT_EQ(sums, 2 * (program.settings.block == Block::Model ? program.settings.model.layers : 1));
  }
}

// Their sums would wait for each other.
TEST(Overlap, WithReplicasOnlyTheirSumsGoOnBeside) {
  const Program program = plan_program(small_model(2, 2));
  for (const Step& step : program.steps) EXPECT_EQ(step.overlapped, step.axis == Axis::Dp) << step.name;
}

TEST(Overlap, TheWeightsGradientIsComputedWhileTheInputsIsSummed) {
  const std::shared_ptr<const Plan> plan = make_plan(small_layer(2));
  auto holder = std::make_shared<testing::HoldsTheLane>(plan->program);
  run(plan, {holder});
  EXPECT_TRUE(holder->held());
  EXPECT_TRUE(holder->went_on());
}

// Ranks make their calls in one order, whichever of their threads makes them.
TEST(Overlap, NoCollectiveBeginsBeforeTheOnesInTheLaneHaveEnded) {
  Program program = plan_program(small_layer(2));
  const Step other = *std::ranges::find(program.steps, Op::AllReduce, &Step::op);
  ASSERT_FALSE(other.overlapped);
  std::vector<StepId> met;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    if (i > 0 && program.steps[i - 1].overlapped) {
      program.steps.insert(program.steps.begin() + static_cast<std::ptrdiff_t>(i), other);
      met.push_back(static_cast<StepId>(i));
    }
    program.steps[i].id = static_cast<StepId>(i);
  }
  EXPECT_EQ(met.size(), 2u);
  const std::vector<bool> behind_lane = waits_for_overlapped(program);
  for (const StepId step : met) EXPECT_TRUE(behind_lane[static_cast<size_t>(step)]) << step;
}

TEST(Overlap, EveryRowParallelProductIsDividedAndNothingElse) {
  const Program whole = plan_program(small_layer(2));
  const Program divided = plan_program(in_chunks(small_layer(2), 3));
  EXPECT_EQ(count(whole, Op::AllReduce, false), 2);
  EXPECT_EQ(count(divided, Op::AllReduce, false), 0);
  EXPECT_EQ(count(divided, Op::AllReduce, true), 6 + 2);  // and f's, whose sums no product of rows makes
  EXPECT_EQ(count(divided, Op::Join, false), 2);
  int64_t whole_bytes = 0, divided_bytes = 0, rows = 0;
  for (const Step& step : whole.steps) whole_bytes += sent_bytes(whole, step.id);
  for (const Step& step : divided.steps) {
    divided_bytes += sent_bytes(divided, step.id);
    if (step.overlapped && !is_sum_of_dx(divided, step)) rows += divided.tensor(step.outputs[0]).shape[0];
    if (step.pair >= 0) {
      EXPECT_EQ(divided.step(step.pair).conjugate, step.conjugate) << step.name;
    }
    if (step.overlapped) {
      EXPECT_NE(explain(divided, step.id).find("all-reduce"), std::string::npos);
    }
  }
  EXPECT_EQ(divided_bytes, whole_bytes);
  EXPECT_EQ(rows, 2 * small_layer(2).tokens());
}

TEST(Overlap, OneRankHasNothingToOverlap) {
  EXPECT_EQ(plan_program(in_chunks(small_layer(1), 4)).steps, plan_program(small_layer(1)).steps);
}

TEST(Overlap, AgreesWithOneRankAsTheProductReducedWholeDoes) {
  for (const char* split : {"megatron", "reversed", "row-row"}) {
    for (const int tp : {2, 3}) {
      for (const int chunks : {2, 3, 5}) {
        Settings settings = small_layer(tp, split);
        settings.dtype = DType::Fp64;
        const Outcome whole = compare(settings);
        const Outcome divided = compare(in_chunks(settings, chunks));
        EXPECT_TRUE(divided.summary.agrees) << divided.first_broken();
        for (const char* value : {"attn.proj.out", "mlp.proj.out", "grad.X"}) {
          if (whole.of(value) == nullptr) continue;
          ASSERT_NE(divided.of(value), nullptr) << value;
          EXPECT_LE(divided.of(value)->relative_error, 5e-15) << split << " " << value;
        }
      }
    }
  }
}

TEST(Overlap, HoldsInAWholeModelWithReplicasAndRecomputation) {
  for (const Recompute recompute : {Recompute::None, Recompute::Full}) {
    for (const DType dtype : {DType::Fp32, DType::Fp64}) {
      Settings settings = in_chunks(small_model(3, 2), 4);
      settings.recompute = recompute;
      settings.dtype = dtype;
      const Outcome outcome = compare(settings, plan_program(settings));
      EXPECT_TRUE(outcome.summary.agrees) << outcome.first_broken();
      EXPECT_NE(outcome.of("loss"), nullptr);
    }
  }
}

TEST(Overlap, MemoryIsWhatWasPlanned) {
  const std::shared_ptr<const Plan> plan = make_plan(in_chunks(small_layer(3), 4));
  Executor executor(plan);
  executor.start(executor.steps());
  executor.wait();
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(executor.high_water_bytes(rank), plan->memory[static_cast<size_t>(rank)].arena_bytes);
  // The parts lie in the whole, one behind the other.
  const Program& program = plan->program;
  const MemoryPlan& memory = plan->memory[0];
  for (const Tensor& tensor : program.tensors) {
    if (!is_row_view(program, tensor)) continue;
    const Tensor& of = program.tensor(tensor.storage);
    const int64_t row = local_bytes(of, program.tp(), 0) / of.shape[0];
    EXPECT_EQ(memory.offset[static_cast<size_t>(tensor.id)],
              memory.offset[static_cast<size_t>(of.id)] + tensor.first_row * row);
  }
}

TEST(Overlap, TheNextPartIsComputedWhileTheFirstIsReduced) {
  const std::shared_ptr<const Plan> plan = make_plan(in_chunks(small_layer(2), 4));
  auto holder = std::make_shared<testing::HoldsTheLane>(plan->program);
  run(plan, {holder});
  EXPECT_TRUE(holder->held());
  EXPECT_TRUE(holder->went_on());
}

TEST(Overlap, IsWrittenAndReadAgain) {
  const Program program = plan_program(in_chunks(small_layer(2), 2));
  EXPECT_EQ(program_from_json(program_to_json(program), "test"), program);
  auto json = program_to_json(program);
  for (auto& tensor : json["tensors"])
    if (tensor["first_row"] > 0) tensor["first_row"] = 1000000;
  EXPECT_THROW(program_from_json(json, "test"), Error);
}

TEST(Overlap, AnAbsurdNumberOfPartsIsRefused) {
  EXPECT_THROW(plan_program(in_chunks(small_layer(2), 0)), Error);
  EXPECT_THROW(plan_program(in_chunks(small_layer(2), 100000)), Error);
}

}  // namespace overlap_test
}  // namespace shardlens
