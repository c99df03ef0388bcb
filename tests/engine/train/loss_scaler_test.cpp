// Loss scaling: its schedule, and that an overflow on one rank makes all ranks skip the step.
#include "engine/train/loss_scaler.h"

#include <gtest/gtest.h>

#include "engine/train/model_step.h"
#include "tests/engine/small_model.h"
#include "tests/engine/train/planted_overflow.h"

namespace shardlens {
namespace loss_scaler_test {

using testing::PlantedOverflow;
using testing::small_model;

TEST(LossScaler, HalvesOnOverflowAndDoublesAfterGoodSteps) {
  LossScaler scaler(1024, 3);
  scaler.step_done(true);
  EXPECT_EQ(scaler.scale(), 512);
  scaler.step_done(false);
  scaler.step_done(false);
  scaler.step_done(true);  // begins to count again
  EXPECT_EQ(scaler.scale(), 256);
  for (int step = 0; step < 2; ++step) scaler.step_done(false);
  EXPECT_EQ(scaler.scale(), 256);
  scaler.step_done(false);
  EXPECT_EQ(scaler.scale(), 512);
}

TEST(LossScaler, StaysBetweenOneAndTheLargest) {
  LossScaler scaler(2, 1);
  for (int step = 0; step < 5; ++step) scaler.step_done(true);
  EXPECT_EQ(scaler.scale(), 1);
  EXPECT_TRUE(scaler.at_lowest());
  for (int step = 0; step < 40; ++step) scaler.step_done(false);
  EXPECT_EQ(scaler.scale(), LossScaler::kLargestScale);
}

/// The bytes of every weight, moment and master of every rank.
std::vector<std::vector<std::byte>> lasting_state(const Executor& executor, const Program& program) {
  std::vector<std::vector<std::byte>> state;
  for (int rank = 0; rank < program.tp() * program.dp(); ++rank) {
    for (const Tensor& tensor : program.tensors) {
      const bool lasts = tensor.kind == MemoryKind::Weight || tensor.kind == MemoryKind::OptimizerState;
      if (!lasts || tensor.storage != kNoTensor) continue;
      state.emplace_back(static_cast<size_t>(local_bytes(tensor, program.tp(), rank % program.tp())));
      executor.read_tensor(rank, tensor.id, state.back().data());
    }
  }
  return state;
}

TEST(LossScaler, GoesOnFromItsState) {
  LossScaler scaler(1024, 3);
  scaler.step_done(false);
  scaler.step_done(false);
  LossScaler again(scaler.scale(), 3, scaler.good_steps());
  again.step_done(false);
  EXPECT_EQ(again.scale(), 2048);
}

TEST(LossScaler, KnowsWhichScalesChangeNoDigit) {
  for (const double scale : {1.0, 2.0, 65536.0, 16777216.0}) EXPECT_TRUE(LossScaler::is_possible(scale));
  for (const double scale : {0.0, -2.0, 0.5, 3.0, 1000.0, 33554432.0, std::nan("")})
    EXPECT_FALSE(LossScaler::is_possible(scale)) << scale;
}

TEST(LossScale, AnOverflowOnOneRankSkipsTheStepOnAll) {
  Settings settings = small_model(3, 2);
  settings.dtype = DType::Fp16;
  const std::shared_ptr<const Plan> plan = make_plan(settings);
  Executor executor(plan);
  PassInputs inputs;
  inputs.batch = std::make_shared<const Batch>(seeded_batch(settings));
  inputs.loss_scale = 1024;
  inputs.numbers.learning_rate = 1e-2;
  const auto pass = [&](std::vector<std::shared_ptr<StepObserver>> observers) {
    executor.observe(std::move(observers));
    executor.next_pass(inputs);
    executor.start(executor.steps());
    executor.wait();
  };
  executor.start(0);
  executor.wait();
  const auto before = lasting_state(executor, plan->program);
  pass({std::make_shared<PlantedOverflow>(testing::cut_gradient(2), 1)});
  EXPECT_TRUE(lasting_state(executor, plan->program) == before);
  pass({});
  EXPECT_FALSE(lasting_state(executor, plan->program) == before);
}

TEST(LossScale, ChangesNoGradientAndNoUpdate) {
  Settings settings = small_model(2);
  const auto dump = [&](DType dtype) {
    settings.dtype = dtype;
    ModelStepRequest request;
    request.dump = true;
    request.updates = 2;
    request.learning_rate = 1e-3;
    return run_model_step(make_plan(settings), request);
  };
  const ModelStepResult narrow = dump(DType::Fp16), wide = dump(DType::Fp32);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(narrow.losses[i], wide.losses[i], 1e-2);
    EXPECT_NEAR(narrow.gradient_norms[i] / wide.gradient_norms[i], 1, 1e-2) << "scaled or clipped twice";
  }
}

}  // namespace loss_scaler_test
}  // namespace shardlens
