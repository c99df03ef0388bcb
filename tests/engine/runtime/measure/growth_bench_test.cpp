// What a study of growth reports for a size: the model's prediction, what ran, and why something did not run.
// `bench scaling` prints how close prediction and measurement are on this machine; that is not tested.
#include "engine/runtime/measure/growth_bench.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "engine/base/error.h"
#include "engine/config/presets.h"
#include "engine/cost/model_price.h"
#include "engine/runtime/measure/growth_chart.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace growth_bench_test {

using ::testing::HasSubstr;

constexpr int64_t kPlenty = int64_t{1} << 40;

// Stands for a calibrated machine.
const Hardware& machine() {
  return find_hardware("a100-80gb");
}

GrowthPoint small_point(GrowthAxis axis, double size, int64_t layers = 2) {
  GrowthPoint point{axis, size, testing::small_model(2)};
  point.settings.model.layers = layers;
  return point;
}

GrowthLimits limits(int repetitions = 2) {
  return {
      .budget_seconds = 1e6, .longest_step_seconds = 60, .repetitions = repetitions, .memory_bytes = kPlenty};
}

GrowthRow measured_row(double predicted, std::vector<double> seconds) {
  GrowthRow row;
  row.predicted_seconds = predicted;
  row.seconds = std::move(seconds);
  return row;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(PredictedGrowth, IsTheCostModels) {
  Settings base;
  base.tp = 2;
  const std::vector<GrowthPoint> points = growth_points(base);
  const std::vector<GrowthRow> rows = predicted_growth(points, machine(), limits());
  ASSERT_EQ(rows.size(), points.size());
  for (const GrowthRow& row : rows) {
    const ModelPrice price = price_model(row.point.settings, machine());
    EXPECT_EQ(row.predicted_seconds, price.step_seconds);
    EXPECT_EQ(row.planned_bytes, row.point.settings.tp * total_bytes(price.memory_bytes));
    EXPECT_TRUE(row.left_out.empty()) << row.left_out;
    EXPECT_TRUE(row.sampled.is_whole());
  }
}

TEST(PredictedGrowth, RunsAFewLayersOfWhatDoesNotFit) {
  const GrowthPoint point{GrowthAxis::Model, 1e9, growth_points({})[kGrowthModels - 1].settings};
  const int64_t whole = predicted_growth({point}, machine(), limits())[0].planned_bytes;
  GrowthLimits narrow = limits();
  narrow.memory_bytes = whole - 1;
  const GrowthRow row = predicted_growth({point}, machine(), narrow)[0];
  EXPECT_TRUE(row.left_out.empty());
  EXPECT_EQ(row.sampled.more, 10);  // of 20 layers
  EXPECT_EQ(row.sampled.fewer, 5);
  EXPECT_EQ(row.predicted_seconds, price_model(point.settings, machine()).step_seconds);
  narrow.memory_bytes = whole / 2;  // not for ten layers and five of them
  EXPECT_EQ(predicted_growth({point}, machine(), narrow)[0].sampled.more, 5);
}

TEST(PredictedGrowth, SaysWhyASizeIsLeftOut) {
  GrowthPoint impossible = small_point(GrowthAxis::Ranks, 3);
  impossible.settings.tp = 3;
  impossible.settings.heads_policy = HeadsPolicy::Strict;
  GrowthPoint small = small_point(GrowthAxis::Model, 1);
  GrowthLimits none = limits();
  none.memory_bytes = 1000;
  EXPECT_THAT(predicted_growth({impossible}, machine(), limits())[0].left_out, HasSubstr("T = 3"));
  EXPECT_THAT(predicted_growth({small}, machine(), none)[0].left_out,
              AllOf(HasSubstr("needs"), HasSubstr("1000 bytes may be used")));
  GrowthLimits quick = limits();
  quick.longest_step_seconds = 1e-9;
  EXPECT_THAT(predicted_growth({small}, machine(), quick)[0].left_out, HasSubstr("a step would take"));
}

TEST(MeasureGrowth, RunsEverySizeAndKeepsTheirOrder) {
  const Growth growth = measure_growth(
      {small_point(GrowthAxis::Model, 2, 4), small_point(GrowthAxis::Model, 1, 2)}, machine(), limits(3));
  ASSERT_EQ(growth.rows.size(), 2u);
  EXPECT_EQ(growth.rows[0].point.size, 2);
  for (const GrowthRow& row : growth.rows) {
    EXPECT_EQ(row.seconds.size(), 3u);
    EXPECT_LE(row.lowest_seconds(), row.median_seconds());
    EXPECT_GE(row.highest_seconds(), row.median_seconds());
    EXPECT_EQ(row.of_prediction(), row.median_seconds() / row.predicted_seconds);
  }
}

TEST(MeasureGrowth, RunsSampledLayersInTurnAndAddsTheRest) {
  const GrowthPoint point = small_point(GrowthAxis::Model, 1, 12);
  GrowthLimits narrow = limits();
  narrow.memory_bytes = predicted_growth({point}, machine(), limits())[0].planned_bytes - 1;
  const Growth growth = measure_growth({point}, machine(), narrow);
  EXPECT_EQ(growth.rows[0].sampled.more, 6);
  EXPECT_EQ(growth.rows[0].sampled.fewer, 3);
  EXPECT_EQ(growth.rows[0].seconds.size(), 2u);
  EXPECT_THAT(growth_csv(growth, GrowthAxis::Model), HasSubstr(",3 and 6 of 12 layers,2,"));
}

TEST(MeasureGrowth, LeavesOutWhatTheBudgetDoesNotHold) {
  GrowthLimits none = limits();
  none.budget_seconds = 0;
  const Growth growth = measure_growth({small_point(GrowthAxis::Batch, 4)}, machine(), none);
  EXPECT_TRUE(growth.rows[0].seconds.empty());
  EXPECT_THAT(growth.rows[0].left_out, HasSubstr("the budget was used up"));
}

TEST(MeasureGrowth, RefusesWhereNothingCanBeRun) {
  GrowthPoint impossible = small_point(GrowthAxis::Ranks, 3);
  impossible.settings.heads_policy = HeadsPolicy::Strict;
  impossible.settings.tp = 3;
  try {
    measure_growth({impossible}, machine(), limits());
    FAIL() << "it was run";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("not one size can be run"), HasSubstr("T = 3")));
  }
}

TEST(GrowthRows, GrowthIsMeasuredOverTheModels) {
  const GrowthRow first = measured_row(1, {2, 2.1, 1.9});
  EXPECT_DOUBLE_EQ(growth_beyond_model(first, measured_row(10, {30, 30, 30})), 1.5);
  EXPECT_TRUE(grows_worse(first, measured_row(10, {30, 30, 30})));
  EXPECT_FALSE(grows_worse(first, measured_row(10, {21, 22, 22.5}))) << "ten in a hundred are let pass";
  EXPECT_FALSE(grows_worse(first, measured_row(10, {18, 30, 30}))) << "within the spread of both";
  EXPECT_FALSE(grows_worse(first, measured_row(10, {15, 15, 15})));
  EXPECT_EQ(growth_beyond_model(first, measured_row(10, {})), 0);
  EXPECT_FALSE(grows_worse(measured_row(0, {}), first));
}

// A header, and a line of as many fields a size; commas within quotes are not fields'.
TEST(GrowthCsv, HasALineASizeWithAllItsFields) {
  GrowthPoint impossible = small_point(GrowthAxis::Model, 3);
  impossible.settings.heads_policy = HeadsPolicy::Strict;
  const Growth growth =
      measure_growth({small_point(GrowthAxis::Model, 1), small_point(GrowthAxis::Model, 2, 3), impossible,
                      small_point(GrowthAxis::Batch, 4)},
                     machine(), limits());
  const std::vector<std::string> lines = lines_of(growth_csv(growth, GrowthAxis::Model));
  ASSERT_EQ(lines.size(), 4u);
  const auto fields = [](const std::string& line) {
    bool quoted = false;
    int count = 1;
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      if (c == ',' && !quoted) ++count;
    }
    return count;
  };
  for (const std::string& line : lines) EXPECT_EQ(fields(line), 21) << line;
  EXPECT_EQ(lines[0].rfind("axis,size,", 0), 0u);
  EXPECT_EQ(lines[1].rfind("model,1,", 0), 0u);
  EXPECT_THAT(lines[1], HasSubstr(",whole,2,"));
  EXPECT_THAT(lines[1], HasSubstr(fmt::format(",{:.9g},", growth.rows[0].predicted_seconds)));
  EXPECT_EQ(lines[3].back(), '"') << "and why it was left out: " << lines[3];
}

TEST(GrowthChart, ShowsTheModelEverywhereAndWhatWasMeasured) {
  Growth growth;
  growth.machine = "a machine";
  for (int i = 0; i < 3; ++i) {
    growth.rows.push_back(measured_row(std::pow(10, i), {1.5 * std::pow(10, i)}));
    growth.rows.back().point = small_point(GrowthAxis::Sequence, 64 << i);
  }
  growth.rows[1].sampled = {1, 2};
  growth.rows[2].seconds.clear();
  growth.rows[2].left_out = "the budget was used up";
  const Chart chart = growth_chart(growth, GrowthAxis::Sequence);
  ASSERT_EQ(chart.series.size(), 2u);
  ASSERT_EQ(chart.series[0].points.size(), 3u);
  ASSERT_EQ(chart.series[1].points.size(), 2u);
  EXPECT_EQ(chart.series[0].points[2].y, 100);
  EXPECT_EQ(chart.series[1].points[1].y, 15);
  EXPECT_TRUE(chart.series[1].points[1].hollow);
  EXPECT_EQ(chart.series[1].points[0].words, (std::vector<std::string>{"1.50 s", "1.50 ×"}));
  ASSERT_EQ(chart.notes.size(), 2u);
  EXPECT_THAT(chart.notes[1], HasSubstr("256 left out: the budget was used up"));
  EXPECT_EQ(chart.x.ticks.size(), 3u);
  for (const ChartSeries& series : chart.series)
    for (const ChartPoint& point : series.points) {
      EXPECT_GT(point.x, chart.x.low);
      EXPECT_LT(point.x, chart.x.high);
      EXPECT_GT(point.y, chart.y.low);
      EXPECT_LT(point.y, chart.y.high);
    }
  for (const ChartTick& tick : chart.y.ticks) {
    EXPECT_GE(tick.value, chart.y.low);
    EXPECT_LE(tick.value, chart.y.high);
  }
  EXPECT_TRUE(growth_chart(growth, GrowthAxis::Batch).series.empty());
}

}  // namespace growth_bench_test
}  // namespace shardlens
