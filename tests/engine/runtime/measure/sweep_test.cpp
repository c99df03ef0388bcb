// A sweep over T: weights fall as 1/T except for those that every rank holds whole, the error does not grow,
// and broken or impossible settings are reported.
#include "engine/runtime/measure/sweep.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "engine/base/error.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace sweep_test {

using ::testing::HasSubstr;
using testing::small_layer;
using testing::small_model;

Sweep swept(const Settings& settings, const std::vector<int>& degrees, std::optional<Fault> fault = {}) {
  Sweeper sweeper(settings, degrees, fault);
  RunWish wish;
  wish.passes = 1;
  while (!sweeper.is_done()) run_whole(sweeper.run_next(wish));
  return sweeper.sweep();
}

TEST(Sweep, ALayersWeightsFallAsOneOverTAndItsErrorStays) {
  Settings settings = small_layer(1);
  settings.dtype = DType::Fp64;
  settings.hardware = "a100-80gb";
  const Sweep sweep = swept(settings, {1, 2, 3, 4, 6, 12});
  EXPECT_TRUE(sweep.agrees());
  const auto whole = static_cast<double>(sweep.points[0].weight_bytes);
  for (const SweepPoint& point : sweep.points) {
    SCOPED_TRACE(point.tp);
    ASSERT_TRUE(point.measured) << point.refused;
    EXPECT_EQ(point.measured_weight_bytes, point.weight_bytes);
    EXPECT_DOUBLE_EQ(point.ideal_weight_bytes, whole / point.tp);
    if (point.tp > 1) {
      // All but the replicated ones are cut into T; arenas are packed in multiples of 64 bytes.
      const auto replicated = static_cast<double>(point.replicated_weight_bytes);
      EXPECT_NEAR(static_cast<double>(point.weight_bytes), replicated + (whole - replicated) / point.tp,
                  1024);
      EXPECT_GT(replicated, 0);
      EXPECT_LT(replicated, whole / 50);
    }
    EXPECT_EQ(point.forward_collectives, point.tp > 1 ? 2 : 0);
    EXPECT_EQ(point.backward_collectives, point.tp > 1 ? 2 : 0);
    const int64_t all_reduced = int64_t{2} * 24 * 96 * 8;
    EXPECT_EQ(point.sent_bytes, 4 * 2 * all_reduced * (point.tp - 1) / point.tp);
    EXPECT_LE(point.worst_relative_error, point.bound);
    EXPECT_EQ(point.bound, 5e-15);
    EXPECT_GT(point.measured_seconds, 0);
    EXPECT_GT(point.predicted_seconds, 0);
  }
  EXPECT_THAT(sweep.predicted_on, HasSubstr("A100"));
}

TEST(Sweep, OfAWholeModelOneLayersCollectivesAreCounted) {
  Settings settings = small_model(1);
  settings.dtype = DType::Fp64;
  settings.micro_batches = 2;
  const Sweep sweep = swept(settings, {5});
  EXPECT_TRUE(sweep.agrees());
  for (const SweepPoint& point : sweep.points) {
    EXPECT_EQ(point.forward_collectives, 2) << point.tp;
    EXPECT_EQ(point.backward_collectives, 2) << point.tp;
    EXPECT_EQ(point.measured_weight_bytes, point.weight_bytes) << point.tp;
  }
}

TEST(Sweep, WhatIsNotPossibleSaysWhyAndTheRestGoesOn) {
  const Sweep sweep = swept(small_layer(1), {5, 2});
  EXPECT_THAT(sweep.points[0].refused, HasSubstr("12 heads are not divisible by 5"));
  EXPECT_FALSE(sweep.points[0].measured);
  EXPECT_TRUE(sweep.points[1].measured);
  EXPECT_TRUE(sweep.agrees());
  EXPECT_FALSE(swept(small_layer(1), {5}).agrees()) << "nothing ran";
}

TEST(Sweep, APlantedFaultBreaksEveryDegreeThatCanHaveIt) {
  const Sweep sweep = swept(small_layer(1), {1, 2, 4}, Fault::SkipG);
  EXPECT_FALSE(sweep.agrees());
  EXPECT_FALSE(sweep.points[0].refused.empty()) << "one rank has nothing to get wrong";
  for (const size_t i : {size_t{1}, size_t{2}}) {
    EXPECT_FALSE(sweep.points[i].agrees);
    EXPECT_GT(sweep.points[i].worst_relative_error, sweep.points[i].bound);
    EXPECT_FALSE(sweep.points[i].first_broken.empty());
  }
}

TEST(Sweep, CanBeGivenUp) {
  Sweeper sweeper(small_layer(1), {2});
  std::stop_source source;
  source.request_stop();
  RunWish wish;
  wish.stop = source.get_token();
  try {
    run_whole(sweeper.run_next(wish));
    FAIL() << "it ran";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Cancelled);
  }
  EXPECT_FALSE(sweeper.sweep().points[0].measured);
}

}  // namespace sweep_test
}  // namespace shardlens
