// The scaling session: requests are answered, a measurement can be stopped, and a calibration is adopted.
#include "engine/runtime/session/scaling_session.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "engine/config/hardware_file.h"
#include "engine/config/presets.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace scaling_session_test {

constexpr double kTimeoutSeconds = 300;

TEST(ScalingSession, PricesWhatIsAskedAndKeepsOnlyTheLastWish) {
  ScalingSession session;
  EXPECT_EQ(session.snapshot()->paper, nullptr);
  Settings settings = paper_settings("megatron-8.3b", 8, 4);
  settings.hardware = "a100-80gb";
  session.send(scaling_command::PricePaper{});
  session.send(scaling_command::PriceCrossing{settings});
  for (const int stages : {1, 2, 6}) session.send(scaling_command::PriceCluster{settings, stages});
  const auto priced = session.wait_until_idle(kTimeoutSeconds);
  ASSERT_TRUE(priced->paper);
  EXPECT_EQ(priced->paper->points.size(), paper_scaling().size());
  ASSERT_TRUE(priced->crossing);
  EXPECT_EQ(priced->crossing->even.tp, 8);
  EXPECT_TRUE(priced->crossing->refused.empty()) << priced->crossing->refused;
  EXPECT_GT(priced->crossing->by_hidden.size(), 5u);
  for (size_t i = 1; i < priced->crossing->by_hidden.size(); ++i) {
    const auto &narrow = priced->crossing->by_hidden[i - 1], &wide = priced->crossing->by_hidden[i];
    EXPECT_LT(narrow.hidden, wide.hidden);
    EXPECT_LT(narrow.even.ratio(), wide.even.ratio()) << "computing grows faster than what is sent";
  }
  ASSERT_TRUE(priced->cluster);
  EXPECT_EQ(priced->cluster->stages, 6);
  EXPECT_EQ(priced->cluster->price.ranks, 8 * 4 * 6);
}

TEST(ScalingSession, SaysWhatCannotBePriced) {
  ScalingSession session;
  Settings settings = paper_settings("megatron-8.3b", 8, 1);
  session.send(scaling_command::PriceCluster{settings, 100});
  settings.model = model_preset("gpt2");  // twelve heads
  settings.hardware = "a100-80gb";
  session.send(scaling_command::PriceCrossing{settings});
  const auto priced = session.wait_until_idle(kTimeoutSeconds);
  EXPECT_NE(priced->cluster->refused.find("Choose from 1 to 72"), std::string::npos)
      << priced->cluster->refused;
  EXPECT_FALSE(priced->crossing->refused.empty());
  EXPECT_FALSE(priced->crossing->by_hidden.empty()) << "other widths are possible";
}

TEST(ScalingSession, MeasuresPointByPointAndStops) {
  ScalingSession session;
  session.send(scaling_command::Measure{testing::small_model(1)});
  const auto all = session.wait_until_idle(kTimeoutSeconds);
  ASSERT_TRUE(all->measured);
  EXPECT_TRUE(all->measured->complete());
  EXPECT_EQ(all->message, "");
  Settings large = testing::small_model(1);
  large.model.hidden = 960;
  large.model.heads = 12;
  large.model.ffn = 3840;
  large.model.positions = 512;
  large.seq = 512;
  session.send(scaling_command::Measure{large});
  while (!session.snapshot()->measures()) std::this_thread::yield();
  session.send(scaling_command::Stop{"a run began"});
  const auto stopped = session.wait_until_idle(kTimeoutSeconds);
  EXPECT_FALSE(stopped->measures());
  EXPECT_EQ(stopped->message, "a run began");
}

TEST(AdoptCalibration, IsSeenAtOnceAndLeavesOlderReferencesAlone) {
  const Hardware& before = find_hardware("this-machine");
  const Hardware copy = before;
  Hardware measured = before;
  measured.title = "another name";
  measured.basis = "measured by a test";
  measured.rates[{"linear", DType::Fp32, 1}] = {{1e9, 5e10}};
  adopt_calibration(measured);
  EXPECT_EQ(before, copy) << "who read the old one still does";
  EXPECT_TRUE(find_hardware("this-machine").is_calibrated());
  EXPECT_EQ(find_hardware("this-machine").basis, "measured by a test");
  EXPECT_EQ(find_hardware("this-machine").title, copy.title);
  EXPECT_EQ(hardware_presets().front().basis, "measured by a test");
  adopt_calibration(copy);
  EXPECT_EQ(find_hardware("this-machine"), copy);
}

}  // namespace scaling_session_test
}  // namespace shardlens
