// A program that knows a mouse is used by fingers: tap, scroll, drag, a long press, two fingers.
#include "ui/platform/fingers.h"

#include <gtest/gtest.h>
#include <imgui_internal.h>

namespace shardlens {
namespace {

/// A window that scrolls, with a button at its top and much below it, and a slider in another one.
class FingersTest : public testing::Test {
 protected:
  void SetUp() override {
    ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.DisplaySize = {400, 800};
    io.IniFilename = nullptr;
    io.BackendFlags |= ImGuiBackendFlags_RendererHasTextures;
    for (int i = 0; i < 3; ++i) frame();
  }
  void TearDown() override { ImGui::DestroyContext(); }

  void frame() {
    ImGui::GetIO().DeltaTime = 1.0f / 60;
    ImGui::NewFrame();
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize({400, 400});
    ImGui::Begin("list", nullptr, ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove);
    clicks_ += ImGui::Button("button", {380, 100}) ? 1 : 0;
    hovered_ = ImGui::IsItemHovered();
    ImGui::Dummy({10, 1000});
    scroll_ = ImGui::GetScrollY();
    ImGui::End();
    ImGui::SetNextWindowPos({0, 400});
    ImGui::SetNextWindowSize({400, 400});
    ImGui::Begin("still", nullptr, ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove);
    ImGui::SetNextItemWidth(380);
    ImGui::SliderFloat("##slider", &value_, 0, 1);
    if (ImGui::IsWindowHovered()) {
      wheel_ += ImGui::GetIO().MouseWheel;
      with_ctrl_ = with_ctrl_ || (ImGui::GetIO().MouseWheel != 0 && ImGui::GetIO().KeyCtrl);
    }
    ImGui::End();
    ImGui::Render();
    ImGui::GetDrawData()->Textures->resize(0);
  }
  void fingers(const std::vector<ImVec2>& places) {
    fingers_.take(places, seconds_, 1);
    seconds_ += 1.0 / 60;
    for (int i = 0; i < 3; ++i) frame();
  }

  Fingers fingers_;
  double seconds_ = 0;
  int clicks_ = 0;
  bool hovered_ = false, with_ctrl_ = false;
  float scroll_ = 0, value_ = 0, wheel_ = 0;
};

TEST_F(FingersTest, ATapIsOneClick) {
  fingers({{100, 50}});
  EXPECT_EQ(clicks_, 0) << "it may still become a scroll";
  fingers({});
  EXPECT_EQ(clicks_, 1);
  EXPECT_FALSE(hovered_) << "there is no finger any more";
}

TEST_F(FingersTest, AFingerScrollsAndPressesNothing) {
  fingers({{100, 90}});
  fingers({{100, 60}});
  fingers({{100, 10}});
  EXPECT_NEAR(scroll_, 80, 1);
  fingers({});
  EXPECT_EQ(clicks_, 0);
  EXPECT_NEAR(scroll_, 80, 1);
}

TEST_F(FingersTest, AFingerDragsWhatDoesNotScroll) {
  fingers({{100, 418}});
  fingers({{150, 418}});
  fingers({{250, 418}});
  EXPECT_GT(value_, 0.5f);
  fingers({});
  const float left = value_;
  fingers({{300, 700}});
  fingers({});
  EXPECT_EQ(value_, left);
}

TEST_F(FingersTest, AFingerThatStaysHovers) {
  fingers({{100, 50}});
  EXPECT_TRUE(hovered_);
  seconds_ += 0.6;
  fingers({});
  EXPECT_EQ(clicks_, 0);
  EXPECT_TRUE(hovered_) << "the tooltip is read when the finger is away";
  fingers({{100, 700}});
  EXPECT_FALSE(hovered_);
}

TEST_F(FingersTest, TwoFingersScaleOrMove) {
  fingers({{150, 600}, {250, 600}});
  fingers({{100, 600}, {300, 600}});
  EXPECT_NEAR(wheel_, 4, 0.01) << "twice as far apart";
  EXPECT_TRUE(with_ctrl_);
  fingers({{100, 600}});
  fingers({{100, 700}});
  EXPECT_FALSE(ImGui::GetIO().KeyCtrl);
  fingers({});
  wheel_ = 0, with_ctrl_ = false;
  fingers({{150, 600}, {250, 600}});
  fingers({{150, 700}, {250, 700}});
  EXPECT_NEAR(wheel_, 1, 0.01);
  EXPECT_FALSE(with_ctrl_);
  EXPECT_EQ(clicks_, 0);
}

}  // namespace
}  // namespace shardlens
