// The sizes in the study of growth; its predictions are those of the cost model.
#include "engine/cost/growth.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/base/error.h"
#include "engine/config/presets.h"
#include "engine/config/validate.h"
#include "engine/cost/model_price.h"
#include "engine/planner/parameters.h"

namespace shardlens {
namespace growth_test {

std::vector<GrowthPoint> points_of(GrowthAxis axis, const Settings& base = {}) {
  std::vector<GrowthPoint> points;
  for (const GrowthPoint& point : growth_points(base))
    if (point.axis == axis) points.push_back(point);
  return points;
}

TEST(Growth, ModelsGoFromAMillionToABillionParametersInStepsOfAboutThree) {
  const std::vector<GrowthPoint> points = points_of(GrowthAxis::Model);
  ASSERT_EQ(points.size(), static_cast<size_t>(kGrowthModels));
  EXPECT_NEAR(points.front().size, 1e6, 2e5);
  EXPECT_NEAR(points.back().size, 1e9, 5e7);
  for (size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(points[i].size, static_cast<double>(parameter_count(points[i].settings.model)));
    EXPECT_EQ(points[i].settings.batch, 1);
    if (i == 0) continue;
    EXPECT_GT(points[i].size, 2.5 * points[i - 1].size);
    EXPECT_LT(points[i].size, 4 * points[i - 1].size);
  }
}

TEST(Growth, TheOtherAxesDoubleAndOneModelFitsAllOfThem) {
  std::vector<double> ranks, sequences, batches;
  for (const GrowthPoint& point : points_of(GrowthAxis::Ranks)) ranks.push_back(point.size);
  EXPECT_EQ(ranks, (std::vector<double>{1, 2, 4, 8, 16}));
  for (const GrowthPoint& point : points_of(GrowthAxis::Sequence)) sequences.push_back(point.size);
  EXPECT_EQ(sequences, (std::vector<double>{64, 128, 256, 512, 1024, 2048, 4096}));
  for (const GrowthPoint& point : points_of(GrowthAxis::Batch)) batches.push_back(point.size);
  EXPECT_EQ(batches, (std::vector<double>{1, 2, 4, 8, 16, 32}));
  std::set<int64_t> parameters;
  for (const GrowthPoint& point : growth_points({}))
    if (point.axis != GrowthAxis::Model) parameters.insert(parameter_count(point.settings.model));
  EXPECT_EQ(parameters.size(), 1u);
}

TEST(Growth, EveryPointOfTwoRanksIsAWholeTrainingStepThatCanRun) {
  Settings base;
  base.tp = 2;
  for (const GrowthPoint& point : growth_points(base)) {
    EXPECT_TRUE(point.settings.update);
    EXPECT_EQ(point.settings.block, Block::Model);
    EXPECT_NO_THROW(validate_executable(point.settings)) << to_string(point.axis) << point.size;
  }
}

TEST(Growth, TakesTheBasesDegreeDtypeAndSizes) {
  Settings base;
  base.tp = 4;
  base.dtype = DType::Bf16;
  base.batch = 3;
  base.seq = 100;
  EXPECT_EQ(points_of(GrowthAxis::Model, base).back().settings.seq, 100);
  EXPECT_EQ(points_of(GrowthAxis::Ranks, base).back().settings.batch, 3);
  EXPECT_EQ(points_of(GrowthAxis::Ranks, base).back().settings.tp, 16);
  for (const GrowthPoint& point : growth_points(base)) {
    EXPECT_EQ(point.settings.dtype, DType::Bf16);
    if (point.axis == GrowthAxis::Ranks) continue;
    EXPECT_EQ(point.settings.tp, 4) << to_string(point.axis);
  }
}

TEST(Growth, PredictsWhatTheCostModelDoes) {
  const Hardware& hardware = find_hardware("a100-80gb");
  for (const GrowthPoint& point : points_of(GrowthAxis::Ranks)) {
    const double seconds = predicted_seconds(point, hardware);
    EXPECT_GT(seconds, 0);
    EXPECT_EQ(seconds, price_model(point.settings, hardware).step_seconds);
  }
}

}  // namespace growth_test
}  // namespace shardlens
