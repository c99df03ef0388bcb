// A simulated user drives the Scaling tab and the Traffic tab's times.
#include <gmock/gmock.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "engine/config/hardware_file.h"
#include "engine/runtime/session/scaling_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "engine/runtime/step_times.h"
#include "tests/ui/studio_harness.h"
#include "ui/panels/scaling/scaling_parts.h"
#include "ui/panels/scaling/scaling_view.h"
#include "ui/panels/traffic/traffic_times_rows.h"
#include "ui/panels/traffic/traffic_view.h"

namespace shardlens::ui {
namespace scaling_test {

using ::testing::HasSubstr;

constexpr double kTimeoutSeconds = 500;

void open(StudioHarness& harness, Tab tab) {
  harness.wait_until_at_rest();
  harness.view().tab = tab;
  harness.view().focus_tab = true;
  harness.draw_frames(4);
}

void settle(StudioHarness& harness) {
  harness.draw_frames(3);
  harness.studio().scaling().wait_until_idle(kTimeoutSeconds);
  harness.draw_frames(3);
}

TEST(ScalingTab, PagesAreChosenAndPricedByClicks) {
  StudioHarness harness({1280, 720});
  open(harness, Tab::Scaling);
  settle(harness);
  EXPECT_TRUE(harness.studio().scaling().snapshot()->paper);
  EXPECT_FALSE(harness.studio().scaling().snapshot()->cluster) << "nothing is priced that nobody looks at";
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Scaling/page/break-even"); });
  settle(harness);
  EXPECT_EQ(harness.view().of<ScalingView>().page, ScalingPage::BreakEven);
  EXPECT_EQ(harness.studio().scaling().snapshot()->crossing->settings.hardware, "a100-80gb");
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Scaling/machine/H100"); });
  settle(harness);
  EXPECT_EQ(harness.studio().scaling().snapshot()->crossing->settings.hardware, "h100-80gb");
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Scaling/layer/this run's layer"); });
  settle(harness);
  EXPECT_FALSE(harness.studio().scaling().snapshot()->crossing->refused.empty()) << "twelve heads, T = 8";
}

// A lesson's questions name them.
TEST(ScalingTab, TheAxisOfTheWidthsNamesPowersOfTwoInANarrowPageToo) {
  StudioHarness harness({1280, 720});
  harness.view().set_lecture(true);
  harness.studio().open_lesson("where-the-norm-stands", 0);  // its card takes a third of the window
  harness.view().of<ScalingView>().page = ScalingPage::BreakEven;
  open(harness, Tab::Scaling);
  settle(harness);
  EXPECT_THAT(texts_in(harness, "Scaling"),
              ::testing::IsSupersetOf({"1,024", "2,048", "8,192", "16,384", "32,768"}));
}

TEST(ScalingTab, AClusterFollowsItsSliders) {
  StudioHarness harness({1280, 720});
  harness.view().of<ScalingView>().page = ScalingPage::Cluster;
  open(harness, Tab::Scaling);
  settle(harness);
  const auto before = harness.studio().scaling().snapshot()->cluster;
  ASSERT_TRUE(before);
  EXPECT_EQ(before->price.ranks, 8 * 64 * 6);
  EXPECT_THAT(cluster_basis(*before), HasSubstr("18 bytes per parameter")) << "the memory wall says 16";
  std::string copied;
  harness.perform([&](ImGuiTestContext& person) {
    person.MouseMove("//Scaling/**/D replicas/##value");
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_C);
    copied = ImGui::GetClipboardText();
  });
  EXPECT_NE(copied.find("8 × 64 × 6"), std::string::npos) << copied;
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Scaling/**/D replicas/##value");
    person.KeyCharsReplaceEnter("12");
  });
  settle(harness);
  const auto after = harness.studio().scaling().snapshot()->cluster;
  EXPECT_EQ(after->price.ranks, 8 * 64 * 12);
  EXPECT_EQ(after->settings.batch, 12 * 512);
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Scaling/**/Model/choice");
    person.ItemClick("//$FOCUSED/Megatron GPT-2 8.3 B");
  });
  settle(harness);
  EXPECT_EQ(harness.studio().scaling().snapshot()->cluster->settings.model.name, "megatron-8.3b");
  EXPECT_EQ(harness.studio().scaling().snapshot()->cluster->refused, "");
}

TEST(ScalingTab, ThisMachineIsMeasuredByAClick) {
  StudioHarness harness({1280, 720});
  open(harness, Tab::Scaling);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Scaling/scaling.measure"); });
  settle(harness);
  const auto measured = harness.studio().scaling().snapshot()->measured;
  ASSERT_TRUE(measured);
  EXPECT_TRUE(measured->complete());
  EXPECT_EQ(measured->layer.model.hidden, 96);
}

TEST(ScalingTab, ARunThatBeginsGivesTheMeasurementUp) {
  StudioHarness harness;
  open(harness, Tab::Scaling);
  Settings large = small_settings();
  large.model.hidden = 1536;
  large.model.ffn = 6144;
  large.seq = 512;
  harness.studio().scaling().send(scaling_command::Measure{large});
  while (!harness.studio().scaling().snapshot()->measures()) usleep(1000);
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiKey_2);
    person.Yield(4);
    EXPECT_TRUE(person.ItemExists("//Message/Close")) << "it is said wherever one looks";
  });
  harness.studio().scaling().wait_until_idle(kTimeoutSeconds);
  EXPECT_THAT(harness.studio().scaling().snapshot()->message, HasSubstr("share the cores"));
}

/// The user's own calibration is neither read nor written.
class Times : public ::testing::Test {
 protected:
  Times() {
    std::filesystem::create_directories(folder_);
    setenv("XDG_DATA_HOME", folder_.c_str(), 1);
  }
  ~Times() override {
    unsetenv("XDG_DATA_HOME");
    std::filesystem::remove_all(folder_);
  }
  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / ("shardlens-times-" + std::to_string(getpid()));
};

TEST_F(Times, StandBesideEachOtherAndAClickSelectsTheStep) {
  StudioHarness harness;
  open(harness, Tab::Traffic);
  ASSERT_TRUE(harness.snapshot().result->times);
  const StepId step = harness.snapshot().plan->program.steps.front().id;
  harness.perform([&](ImGuiTestContext& person) {
    person.ItemClick("//Traffic/page/times");
    person.ItemClick(("//Traffic/times/step " + std::to_string(step)).c_str());
  });
  EXPECT_TRUE(harness.view().of<TrafficView>().times);
  EXPECT_EQ(harness.view().selected_step, step);
}

TEST_F(Times, BothTablesAreCopiedFromUnderTheMouse) {
  StudioHarness harness;
  harness.view().of<TrafficView>().times = true;
  open(harness, Tab::Traffic);
  const StepId step = harness.snapshot().plan->program.steps.front().id;
  std::string sums, steps;
  harness.perform([&](ImGuiTestContext& person) {
    const auto copied_at = [&](ImVec2 place) {
      person.MouseMoveToPos(place);
      person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_C);
      return std::string(ImGui::GetClipboardText());
    };
    const ImRect row = person.ItemInfo(("//Traffic/times/step " + std::to_string(step)).c_str()).RectFull;
    steps = copied_at(row.GetCenter());
    sums = copied_at({row.GetCenter().x, row.Min.y - 3 * row.GetHeight()});  // above the steps' headline
  });
  EXPECT_THAT(steps, HasSubstr("ln1"));
  EXPECT_THAT(sums, HasSubstr("the whole pass"));
  EXPECT_THAT(sums, HasSubstr("matrix products"));
}

TEST_F(Times, ThatAreNotThereSayWhy) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Setup/T = 5"); });
  harness.wait_until_at_rest();
  ASSERT_TRUE(harness.snapshot().stale());
  EXPECT_THAT(why_not_timed(harness.snapshot()), HasSubstr("No step of these settings was timed"));
  Snapshot planned = harness.snapshot();
  planned.result = nullptr;
  planned.state = RunState::Paused;
  EXPECT_THAT(why_not_timed(planned), HasSubstr("press Run"));
}

TEST_F(Times, ACalibrationMadeHereIsStoredAndSeenAtOnce) {
  const Hardware before = find_hardware("this-machine");
  Hardware unknown = before;
  unknown.rates.clear();
  unknown.links.clear();
  adopt_calibration(unknown);
  {
    StudioHarness harness;
    harness.view().of<TrafficView>().times = true;
    open(harness, Tab::Traffic);
    EXPECT_EQ(harness.snapshot().result->times->predicted_seconds, 0);
    ScalingSession& scaling = harness.studio().scaling();
    harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Traffic/scaling.calibrate"); });
    EXPECT_TRUE(harness.draw_until([&] { return scaling.snapshot()->measures(); })) << "the button";
    // One repetition is as good here, and a fifth of the work.
    scaling.send(scaling_command::Stop{});
    settle(harness);
    EXPECT_FALSE(find_hardware("this-machine").is_calibrated()) << "it was stopped";
    scaling.send(scaling_command::Calibrate{DType::Fp32, 1});
    settle(harness);
    harness.wait_until_at_rest();
    EXPECT_TRUE(find_hardware("this-machine").is_calibrated());
    EXPECT_TRUE(std::filesystem::exists(folder_ / "shardlens" / "this-machine.json"));
    ASSERT_TRUE(harness.snapshot().result->times);
    EXPECT_GT(harness.snapshot().result->times->predicted_seconds, 0)
        << "the plan that is shown is priced anew";
  }
  adopt_calibration(before);
}

}  // namespace scaling_test
}  // namespace shardlens::ui
