// The scaling study on this machine: which layers run, and that every point states what was run.
#include "engine/runtime/measure/measured_scaling.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/base/error.h"
#include "engine/device/device.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace measured_scaling_test {

Settings wide_layer() {
  Settings settings = testing::small_model(1);
  settings.model.hidden = 192;
  settings.model.heads = 12;
  settings.model.ffn = 768;
  settings.dtype = DType::Bf16;
  return settings;
}

TEST(ScalingRuns, BeginAloneAndAskThePapersThreeQuestions) {
  const std::vector<ScalingRun> runs = scaling_runs(wide_layer());
  EXPECT_EQ(runs.front().settings.tp, 1);
  EXPECT_EQ(runs.front().settings.block, Block::Layer);
  EXPECT_EQ(runs.front().settings.dtype, DType::Fp32);
  int weak = 0, heads = 0;
  for (const ScalingRun& run : runs) {
    const Settings& s = run.settings;
    EXPECT_LE(s.tp, available_cores());
    EXPECT_EQ(s.model.heads % s.tp, 0) << "T = " << s.tp;
    EXPECT_EQ(s.model.hidden % s.model.heads, 0);
    EXPECT_EQ(s.threads_per_rank, 1);
    if (run.series == ScalingSeries::Weak) {
      ++weak;
      // A head stays as large, and the weights of a layer grow with T: h² by T within half a step of T heads.
      EXPECT_EQ(s.model.hidden / s.model.heads, 16);
      EXPECT_NEAR(static_cast<double>(s.model.hidden) / 192, std::sqrt(s.tp), 0.5 * s.tp / 12 + 0.05);
      EXPECT_EQ(s.model.ffn, 4 * s.model.hidden);
    } else {
      EXPECT_EQ(s.model.hidden, 192);
    }
    if (run.series == ScalingSeries::Heads) {
      ++heads;
      EXPECT_EQ(s.tp, available_cores());
    }
  }
  EXPECT_EQ(weak, static_cast<int>(degrees_with_cores().size()) - 1);
  if (available_cores() == 2) {
    EXPECT_EQ(heads, 3);
  }
}

TEST(MeasureScaling, TellsAfterEveryRun) {
  size_t told = 0;
  const MeasuredScaling measured = measure_scaling(wide_layer(), 1, {}, [&](const MeasuredScaling& so_far) {
    EXPECT_EQ(so_far.done, ++told);
    EXPECT_EQ(so_far.points.size(), told + 1) << "T = 1 belongs to two series";
  });
  EXPECT_TRUE(measured.complete());
  EXPECT_EQ(told, scaling_runs(wide_layer()).size());
  for (const MeasuredPoint& point : measured.points) {
    EXPECT_GT(point.seconds, 0);
    if (point.tp == 1) {
      EXPECT_DOUBLE_EQ(point.value, 1);
    }
    const double expected =
        point.series == ScalingSeries::Strong
            ? measured.points.front().seconds / point.seconds
            : point.flops_per_second / point.tp / measured.points.front().flops_per_second;
    EXPECT_DOUBLE_EQ(point.value, expected);
  }
}

TEST(MeasureScaling, EndsWhereItIsToldTo) {
  Measuring measuring;
  measuring.progress = [](const std::string& doing, double) {
    if (doing.find("weak") == 0 || doing.find("T = 1") != std::string::npos)
      throw Error(ErrorKind::Cancelled, "enough");
  };
  EXPECT_THROW(measure_scaling(wide_layer(), 1000, measuring), Error);
}

}  // namespace measured_scaling_test
}  // namespace shardlens
