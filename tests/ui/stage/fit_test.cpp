// F, and the button beside the lane heads, fit all rows into the Stage and go back, in lecture mode too.
#include <imgui_internal.h>

#include "engine/runtime/snapshot.h"
#include "tests/ui/studio_harness.h"
#include "ui/stage/stage_view.h"

namespace shardlens::ui {
namespace fit_test {

const ImGuiWindow* rows() {
  return window_with("##stage_rows");
}

/// How far the rows go on below the Stage's lower edge.
float beyond() {
  return rows()->ContentSize.y - rows()->InnerRect.GetHeight();
}

TEST(Fit, GoesThereAndBackAlsoInLectureMode) {
  for (const PixelSize size : {PixelSize{1280, 720}, PixelSize{1920, 1080}}) {
    for (const bool lecture : {false, true}) {
      StudioHarness harness(size);
      harness.view().set_lecture(lecture);
      harness.wait_until_at_rest();
      harness.perform([&](ImGuiTestContext& person) {
        person.MouseMoveToPos(rows()->InnerRect.GetCenter());
        person.MouseWheelY(-3);
        person.Yield(4);
        const float scroll = rows()->Scroll.y, zoom = harness.view().stage_zoom;
        ASSERT_GT(scroll, 0);
        ASSERT_GT(beyond(), 0) << "there is something to fit";
        person.KeyPress(ImGuiKey_F);
        person.Yield(4);
        EXPECT_LE(beyond(), 0) << size.width << ", " << lecture;
        EXPECT_EQ(rows()->ScrollMax.y, 0);
        person.ItemClick("//Stage/fit");
        person.Yield(4);
        EXPECT_EQ(harness.view().stage_zoom, zoom);
        EXPECT_EQ(rows()->Scroll.y, scroll);
      });
    }
  }
}

TEST(Fit, FollowsThePanelAndEndsWithAZoom) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([&](ImGuiTestContext& person) {
    person.ItemClick("//Stage/fit");
    person.Yield(4);
    const float zoom = harness.view().stage_zoom;
    person.KeyPress(ImGuiKey_T);  // the Timeline's room
    person.Yield(8);
    EXPECT_GT(harness.view().stage_zoom, zoom);
    EXPECT_LE(beyond(), 0);
    person.MouseMoveToPos(rows()->InnerRect.GetCenter());
    person.KeyDown(ImGuiMod_Ctrl);
    person.MouseWheelY(2);
    person.KeyUp(ImGuiMod_Ctrl);
    person.Yield(4);
    EXPECT_FALSE(harness.view().of<StageView>().fitted);
    EXPECT_GT(beyond(), 0);
  });
}

}  // namespace fit_test
}  // namespace shardlens::ui
