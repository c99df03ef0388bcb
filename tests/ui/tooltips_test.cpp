// Every tooltip is inside the window and can be read there: its words are wrapped.
#include <gtest/gtest.h>
#include <imgui_internal.h>

#include <string>

#include "tests/ui/studio_harness.h"

namespace shardlens::ui {
namespace tooltips_test {

const ImGuiWindow* tooltip() {
  for (const ImGuiWindow* window : ImGui::GetCurrentContext()->Windows)
    if ((window->Flags & ImGuiWindowFlags_Tooltip) != 0 && window->WasActive && !window->Hidden)
      return window;
  return nullptr;
}

constexpr float kWidest = 450;  ///< pixels: 384 of wrapped words, and a tensor's facts, whose lines are short
constexpr int kUntilShown = 24;  ///< frames: a tooltip waits until the mouse stands still

// The mouse goes over every tab of a small window, in columns.
TEST(Tooltips, NoneIsCutAnywhere) {
  constexpr PixelSize kSize{1280, 720};
  StudioHarness harness(kSize);
  harness.wait_until_at_rest();
  int seen = 0;
  for (int tab = 0; tab <= static_cast<int>(Tab::BreakIt); ++tab) {
    harness.view().tab = static_cast<Tab>(tab);
    harness.view().focus_tab = true;
    harness.draw_frames(4);
    for (const float x : {60.f, 420.f, 900.f, 1200.f}) {
      for (float y = 60; y < 700; y += 24) {
        ImGui::GetIO().AddMousePosEvent(x, y);
        harness.draw_frames(kUntilShown);
        const ImGuiWindow* const shown = tooltip();
        if (shown == nullptr) continue;
        ++seen;
        const ImRect rect = shown->Rect();
        EXPECT_LE(rect.GetWidth(), kWidest) << tab << ": " << x << ", " << y;
        EXPECT_GE(rect.Min.x, 0) << tab << ": " << x << ", " << y;
        EXPECT_GE(rect.Min.y, 0) << tab << ": " << x << ", " << y;
        EXPECT_LE(rect.Max.x, kSize.width) << tab << ": " << x << ", " << y;
        EXPECT_LE(rect.Max.y, kSize.height) << tab << ": " << x << ", " << y;
      }
    }
  }
  EXPECT_GT(seen, 30);
}

}  // namespace tooltips_test
}  // namespace shardlens::ui
