// Passes with and without a trace, and their medians with ranges.
#include "engine/runtime/measure/trace_bench.h"

#include <gtest/gtest.h>

#include "engine/runtime/executor.h"
#include "engine/runtime/gather.h"
#include "engine/runtime/measure/step_bench.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/world.h"
#include "tests/engine/distant_device.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace trace_bench_test {

TEST(MedianOf, OfAnEvenNumberLiesBetweenTheTwoInTheMiddle) {
  EXPECT_EQ(median_of({3, 1, 2}), 2);
  EXPECT_EQ(median_of({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median_of({5}), 5);
}

TEST(Trace, AnUntracedPassLeavesNoEventsAndTheNextOneDoes) {
  const auto plan = make_plan(testing::small_layer(2));
  Executor executor(plan);
  const auto pass = [&](bool traced) {
    executor.set_traced(traced);
    executor.next_pass();
    executor.start(executor.steps());
    executor.wait();
    return executor.trace(1).finished();
  };
  EXPECT_EQ(pass(true), plan->program.steps.size());
  EXPECT_EQ(pass(false), 0u);
  EXPECT_EQ(executor.position(), plan->program.steps.size());
  EXPECT_EQ(pass(true), plan->program.steps.size());
}

TEST(Trace, AnUntracedPassComputesTheSame) {
  const auto plan = make_plan(testing::small_model(2));
  const auto weights_after = [&](bool traced) {
    const auto gather =
        std::make_shared<Gather>(2, [](const Tensor& tensor) { return tensor.kind == MemoryKind::Weight; });
    Executor executor(plan);
    executor.observe({gather});
    executor.set_traced(traced);
    executor.start(executor.steps());
    executor.wait();
    std::vector<std::byte> bytes;
    for (const auto& [name, tensor] : gather->tensors())
      bytes.insert(bytes.end(), tensor.bytes.begin(), tensor.bytes.end());
    return bytes;
  };
  const std::vector<std::byte> traced = weights_after(true);
  EXPECT_FALSE(traced.empty());
  EXPECT_EQ(traced, weights_after(false));
}

TEST(TraceBench, CountsAnEventForEveryStepAndHoldsItsMedianInItsRange) {
  const auto plan = make_plan(testing::small_model(2));
  const TraceBench bench = bench_trace(plan, 4);
  EXPECT_EQ(bench.events, static_cast<int64_t>(plan->program.steps.size()));
  EXPECT_GT(bench.event_seconds, 0);
  EXPECT_GT(bench.untraced_seconds, 0);
  EXPECT_LE(bench.ratio.low, bench.ratio.median);
  EXPECT_GE(bench.ratio.high, bench.ratio.median);
  EXPECT_DOUBLE_EQ(bench.share_by_events(),
                   static_cast<double>(bench.events) * bench.event_seconds / bench.untraced_seconds);
}

// Of ranks whose devices work behind their calls, which could not be untraced once.
TEST(TraceBench, ComparesOnDevicesThatWorkBehindTheirCalls) {
  const auto plan = make_plan(testing::small_model(2));
  testing::DistantOptions options;
  options.works_behind = true;
  Executor executor(plan, take_local_seats(plan, testing::make_distant_backend(options)), nullptr);
  const TraceBench bench = bench_trace(executor, plan->program, 2);
  EXPECT_EQ(bench.events, static_cast<int64_t>(plan->program.steps.size()));
  EXPECT_GT(bench.untraced_seconds, 0);
  EXPECT_GT(bench.ratio.median, 0);
}

// The order statistics of the sign test: of nine the second and the second last, of a hundred the 41st and
// the 60th.
TEST(MedianRange, IsThatOfTheSignTest) {
  std::vector<double> values;
  for (int i = 9; i >= 1; --i) values.push_back(i);
  const MedianRange nine = median_range(values);
  EXPECT_EQ(nine.median, 5);
  EXPECT_EQ(nine.low, 2);
  EXPECT_EQ(nine.high, 8);
  for (int i = 10; i <= 100; ++i) values.push_back(i);
  const MedianRange hundred = median_range(values);
  EXPECT_EQ(hundred.low, 41);
  EXPECT_EQ(hundred.high, 60);
  EXPECT_EQ(median_range({7}).low, 7);
  EXPECT_THROW(median_range({}), std::logic_error);
}

}  // namespace trace_bench_test
}  // namespace shardlens
