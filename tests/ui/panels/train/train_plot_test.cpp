// The labels of a training's plots: at which step, of how many steps, and of which training.
#include "ui/panels/train/train_plot.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/train/train_snapshot.h"

namespace shardlens::ui {
namespace train_plot_test {

/// Steps `first`, `first` + `stride`, … of a training to step `wanted`, which fell by one a step.
TrainCurve curve_of(int64_t steps, int64_t wanted, int64_t first = 1, int64_t stride = 1) {
  TrainCurve curve;
  curve.options.steps = wanted;
  curve.stride = stride;
  for (int64_t i = 0; i < steps; ++i) {
    TrainStep step;
    step.report.step = first + i * stride;
    step.report.loss = static_cast<double>(wanted - step.report.step);
    curve.steps.push_back(std::make_shared<const TrainStep>(step));
  }
  return curve;
}

double loss_of(const StepReport& report) {
  return report.loss;
}

StepAxis axis_of(const TrainCurve& curve) {
  TrainSnapshot train;
  train.curves.push_back(std::make_shared<const TrainCurve>(curve));
  return step_axis(train);
}

TEST(TrainPlot, StandsAtTheTrainingsOwnStepsWhereARecordingBeganInTheMiddle) {
  const TrainCurve curve = curve_of(200, 300, 101);
  EXPECT_EQ(axis_of(curve).begin, 100);
  EXPECT_EQ(axis_of(curve).end, 300);
  const Points points = of_steps(curve, loss_of);
  EXPECT_EQ(points.x.front(), 101);
  EXPECT_EQ(points.x.back(), 300);
  EXPECT_EQ(place_of(curve, 162), 61u);
  EXPECT_EQ(place_of(curve, 300), 199u);
  for (const int64_t not_recorded : {0, 62, 100, 301}) EXPECT_EQ(place_of(curve, not_recorded), 200u);
}

TEST(TrainPlot, AThinnedRecordingsStepIsTheLastOneBeforeIt) {
  const TrainCurve curve = curve_of(10, 40, 1, 4);
  EXPECT_EQ(axis_of(curve).begin, 0);
  EXPECT_EQ(axis_of(curve).end, 40);
  EXPECT_EQ(place_of(curve, 1), 0u);
  EXPECT_EQ(place_of(curve, 8), 1u);
  EXPECT_EQ(place_of(curve, 40), 9u);
  EXPECT_EQ(place_of(curve, 41), 10u);
}

TEST(TrainPlot, TheAxisGrowsWithALongTraining) {
  EXPECT_EQ(axis_of(curve_of(0, 1000)).end, 50);
  EXPECT_EQ(axis_of(curve_of(200, 1000)).end, 250);
  EXPECT_EQ(axis_of(curve_of(1000, 1000)).end, 1000);
}

TEST(TrainPlot, TheLineThatIsReadIsTheMeanItSaysItIs) {
  const TrainCurve short_one = curve_of(15, 200);
  EXPECT_EQ(mean_words(short_one), "");
  EXPECT_EQ(read_line(of_steps(short_one, loss_of)).y, of_steps(short_one, loss_of).y);
  const TrainCurve curve = curve_of(200, 200);
  EXPECT_EQ(mean_words(curve), ", mean of 10 steps");
  EXPECT_DOUBLE_EQ(read_line(of_steps(curve, loss_of)).y.back(), 4.5);
  // A point of this one is of two steps.
  const TrainCurve long_one = curve_of(1200, 1200);
  EXPECT_EQ(mean_words(long_one), ", mean of 60 steps");
  EXPECT_DOUBLE_EQ(read_line(of_steps(long_one, loss_of)).y.back(), 29.5);
}

TEST(TrainPlot, SpeedAndItsShareOfTheCeilingAreOfTheSameSteps) {
  // Every thousand tokens per second are one percent, and the last of five steps was a slow one.
  TrainCurve curve = curve_of(100, 100);
  for (auto& step : curve.steps) {
    TrainStep timed = *step;
    timed.report.tokens_per_second = timed.report.step == 100 ? 2000 : 12000;
    timed.report.flops_per_second = timed.report.tokens_per_second * 1e6;
    timed.report.ceiling_flops = 1e11;
    timed.report.of_ceiling = timed.report.flops_per_second / timed.report.ceiling_flops;
    step = std::make_shared<const TrainStep>(timed);
  }
  EXPECT_EQ(speed_legend(curve).text, "10.0 k tokens/s, 10 % of the GEMM ceiling, mean of 5 steps");
}

TEST(TrainPlot, ALargeNormStaysSeenHoweverManyStepsFollow) {
  for (const int64_t steps : {100, 121, 1000}) {
    TrainCurve curve = curve_of(steps, steps);
    curve.groups = {"head"};
    for (auto& step : curve.steps) {
      TrainStep with_norms = *step;
      with_norms.gradient_norms = {with_norms.report.step == 30 ? 100.0 : 1.0};
      step = std::make_shared<const TrainStep>(with_norms);
    }
    Extent extent;
    extent.take(norm_rows(curve).front());
    EXPECT_DOUBLE_EQ(extent.high, 2) << steps;
    EXPECT_DOUBLE_EQ(extent.low, 0) << steps;
  }
}

}  // namespace train_plot_test
}  // namespace shardlens::ui
