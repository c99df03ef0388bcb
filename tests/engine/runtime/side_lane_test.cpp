// A rank's side lane: work runs in order, is finished after a drain, and really overlaps with the rank.
#include "engine/runtime/side_lane.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/engine/holds_the_lane.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace side_lane_test {

TEST(SideLane, RunsJobsInOrderAndDrainWaitsForAll) {
  SideLane lane;
  std::vector<int> done;
  for (int i = 0; i < 100; ++i) lane.submit([&done, i] { done.push_back(i); });
  lane.drain();
  EXPECT_FALSE(lane.is_busy());
  ASSERT_EQ(done.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<size_t>(i)], i);
}

TEST(SideLane, FinishesWhatWasSubmittedBeforeItEnds) {
  int done = 0;
  {
    SideLane lane;
    for (int i = 0; i < 10; ++i) lane.submit([&done] { ++done; });
  }
  EXPECT_EQ(done, 10);
}

TEST(SideLane, TheBackwardPassGoesOnWhileABucketTravels) {
  Settings settings = testing::small_model(1, 2);
  settings.model.hidden = 640;  // a few buckets
  settings.model.ffn = 2560;
  settings.model.layers = 3;
  const std::shared_ptr<const Plan> plan = make_plan(settings);
  auto holder = std::make_shared<testing::HoldsTheLane>(plan->program);
  testing::run(plan, {holder});
  EXPECT_TRUE(holder->held());
  EXPECT_TRUE(holder->went_on());
}

TEST(SideLane, AFailureInABucketReachesTheCaller) {
  class Fails : public StepObserver {
   public:
    explicit Fails(const Program& program) : program_(program) {}
    void on_tensor(int, StepId step, const Tensor&, const void*) override {
      if (step >= 0 && program_.step(step).axis == Axis::Dp) throw std::runtime_error("the link is cut");
    }

   private:
    const Program& program_;
  };
  const std::shared_ptr<const Plan> plan = make_plan(testing::small_model(2, 2));
  try {
    testing::run(plan, {std::make_shared<Fails>(plan->program)});
    FAIL() << "the run went on";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("all-reduce"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("the link is cut"), std::string::npos) << error.what();
  }
}

TEST(SideLane, OneStepAtATimeStopsBehindTheBucket) {
  const std::shared_ptr<const Plan> plan = make_plan(testing::small_model(1, 2));
  Executor executor(plan);
  for (size_t step = 1; step <= executor.steps(); ++step) {
    executor.start(step);
    executor.wait();
    ASSERT_EQ(executor.position(), step);
  }
}

}  // namespace side_lane_test
}  // namespace shardlens
