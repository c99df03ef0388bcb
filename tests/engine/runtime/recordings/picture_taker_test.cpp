// The picture taker does not read unchanged weights again. The weights are indeed those that the pass before
// left, however the two passes were run.
#include "engine/runtime/recordings/picture_taker.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/runtime/executor.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/sampler.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace picture_taker_test {

class PictureTakerTest : public ::testing::Test {
 protected:
  PictureTakerTest() {
    Settings settings = testing::small_model(2);
    settings.update = true;
    plan_ = make_plan(settings);
    executor_ = std::make_unique<Executor>(plan_);
    PictureOptions options;
    options.taken = PictureOptions::Taken::All;
    taker_ = std::make_shared<PictureTaker>(plan_->program, options);
    inputs_.batch = std::make_shared<const Batch>(seeded_batch(settings));
    inputs_.numbers.learning_rate = 0.1;
  }

  // One pass, of which the taker must say what a sampler says that reads everything.
  void expect_the_same_in_a_pass() {
    SamplePlan plan;
    plan.details.assign(plan_->program.tensors.size(), SampleDetail{4, 0});
    auto sampler = std::make_shared<Sampler>(plan_->program, plan, Sampler::NotFinite::StopsTheRun);
    executor_->observe({sampler, taker_});
    run();
    const SampleTable seen = sampler->samples(), taken = taker_->take(1);
    int samples = 0;
    for (size_t rank = 0; rank < seen.size(); ++rank)
      for (const Tensor& tensor : plan_->program.tensors) {
        const auto id = static_cast<size_t>(tensor.id);
        if (tensor.kind == MemoryKind::Workspace || !seen[rank][id]) continue;
        ASSERT_TRUE(taken[rank][id]) << tensor.name;
        EXPECT_EQ(taken[rank][id]->hash, seen[rank][id]->hash) << tensor.name << " of rank " << rank;
        ++samples;
      }
    EXPECT_GT(samples, 100);
  }

  void run() {
    executor_->start(executor_->steps());
    executor_->wait();
    ++inputs_.numbers.iteration;
  }

  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<Executor> executor_;
  std::shared_ptr<PictureTaker> taker_;
  PassInputs inputs_;
};

TEST_F(PictureTakerTest, WeightsAreThoseOfThePassAtHand) {
  executor_->set_inputs(inputs_);
  expect_the_same_in_a_pass();
  executor_->next_pass(inputs_);
  expect_the_same_in_a_pass();
}

// A pass earns 10 s here, and what has a price of seconds is its writing alone.
TEST_F(PictureTakerTest, WritingIsPaidForToo) {
  executor_->set_inputs(inputs_);
  const auto next = [&](double writing_seconds) {
    PictureTaker taker(plan_->program, {.taken = PictureOptions::Taken::UnderBudget, .budget_share = 0.01});
    executor_->observe({std::shared_ptr<StepObserver>(&taker, [](StepObserver*) {})});
    run();
    taker.take(1000, writing_seconds);
    executor_->observe({});
    executor_->next_pass(inputs_);
    return std::ranges::count_if(plan_->program.tensors,
                                 [&](const Tensor& tensor) { return taker.wants(tensor); });
  };
  EXPECT_GT(next(0), 100);
  EXPECT_EQ(next(1), 0);
}

// So is the copy from a device: a pass earns 10 s, and each copy on rank 1 has a price of a second or of a
// microsecond.
TEST_F(PictureTakerTest, CopiesArePaidForToo) {
  executor_->set_inputs(inputs_);
  const auto next = [&](double copy_seconds) {
    PictureTaker taker(plan_->program, {.taken = PictureOptions::Taken::UnderBudget, .budget_share = 0.01});
    int copied = 0;
    for (const Tensor& tensor : plan_->program.tensors) {
      if (!taker.wants(tensor)) continue;
      taker.on_copy(1, tensor, copy_seconds);
      ++copied;
    }
    taker.take(1000);
    EXPECT_NEAR(taker.seconds(), copied * copy_seconds, 1e-9);
    return std::ranges::count_if(plan_->program.tensors,
                                 [&](const Tensor& tensor) { return taker.wants(tensor); });
  };
  EXPECT_GT(next(1e-6), 100);
  EXPECT_EQ(next(1), 0);
}

TEST_F(PictureTakerTest, APassItDidNotSeeMovedThem) {
  executor_->set_inputs(inputs_);
  expect_the_same_in_a_pass();
  executor_->next_pass(inputs_);
  executor_->observe({});
  run();
  executor_->next_pass(inputs_);
  expect_the_same_in_a_pass();
}

TEST_F(PictureTakerTest, AStartFromTheBeginningFeedsThemAnew) {
  executor_->set_inputs(inputs_);
  expect_the_same_in_a_pass();
  executor_->rewind();
  expect_the_same_in_a_pass();
}

TEST_F(PictureTakerTest, SomebodyWroteThem) {
  executor_->set_inputs(inputs_);
  expect_the_same_in_a_pass();
  for (const Tensor& tensor : plan_->program.tensors) {
    if (tensor.kind != MemoryKind::Weight || tensor.storage != kNoTensor) continue;
    const std::vector<float> ones(static_cast<size_t>(local_bytes(tensor, 2, 1)) / sizeof(float), 1.0f);
    executor_->write_tensor(1, tensor.id, ones.data());
    break;
  }
  executor_->next_pass(inputs_);
  expect_the_same_in_a_pass();
}

}  // namespace picture_taker_test
}  // namespace shardlens
