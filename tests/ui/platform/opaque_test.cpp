// Clearing opaque rectangles must not change a single pixel of what is drawn, and must leave less to draw.
#include "ui/platform/opaque.h"

#include <gtest/gtest.h>

#include "ui/platform/platform.h"

namespace shardlens {
namespace opaque_test {

constexpr PixelSize kSize{320, 200};
constexpr ImU32 kGround = IM_COL32(13, 17, 23, 255);

// Everything that may go wrong: order, clipping, fractions of pixels, opacity, gradients, triangles in
// between, text.
void draw_scene(ImDrawList* list) {
  list->AddRectFilled({0, 0}, {320, 200}, kGround);  // the ground again, over nothing
  list->AddRectFilled({10.5f, 10.25f}, {150.5f, 90.75f}, IM_COL32(200, 40, 40, 255));
  list->AddRectFilled({60, 40}, {200, 120}, IM_COL32(40, 200, 40, 128));
  list->AddText({70, 50}, IM_COL32_WHITE, "under");
  list->AddTriangleFilled({5, 180}, {100, 100}, {160, 190}, IM_COL32(90, 90, 250, 255));
  list->AddRectFilled({80, 45}, {130, 100}, IM_COL32(250, 250, 40, 255));
  list->PushClipRect({170, 20}, {260, 70});
  list->AddRectFilled({100, 0}, {400, 100}, IM_COL32(0, 120, 120, 255));
  list->AddRectFilled({180, 30}, {320, 60}, kGround);  // the ground's colour, but over something
  list->PopClipRect();
  list->AddRectFilledMultiColor({180, 100}, {300, 180}, IM_COL32(255, 0, 0, 255), IM_COL32(0, 255, 0, 255),
                                IM_COL32(0, 0, 255, 255), IM_COL32(255, 255, 255, 255));
  list->AddRectFilled({200, 120}, {280, 170}, IM_COL32(70, 20, 90, 255), 12);
  list->AddRectFilled({280, 5}, {284, 9}, IM_COL32(255, 0, 255, 255));
  list->AddText({85, 60}, IM_COL32(0, 0, 0, 255), "over");
}

// Wraps every rectangle in something the search does not recognise: it is drawn as two triangles of its own.
void draw_plainly(ImDrawList* list) {
  draw_scene(list);
  for (int i = 0; i + 5 < list->IdxBuffer.Size; ++i) {
    ImDrawIdx* index = list->IdxBuffer.Data + i;
    const bool rectangle = index[3] == index[0] && index[4] == index[2];
    if (rectangle) std::swap(index[0], index[1]), std::swap(index[1], index[2]);  // the same triangle, turned
  }
}

template <class Draw>
Image frame(Platform& platform, Draw draw) {
  ImGui::GetStyle().Colors[ImGuiCol_WindowBg] = ImGui::ColorConvertU32ToFloat4(kGround);
  platform.begin_frame();
  draw(ImGui::GetBackgroundDrawList());
  platform.render();
  Image image = platform.read_pixels();
  platform.present();
  return image;
}

TEST(OpaqueRectangles, ClearingThemChangesNoPixel) {
  const auto platform = make_offscreen_platform(kSize);
  const Image plain = frame(*platform, draw_plainly);
  const Image cleared = frame(*platform, draw_scene);
  int different = 0;
  for (int y = 0; y < kSize.height; ++y) {
    for (int x = 0; x < kSize.width; ++x) {
      const std::uint8_t *a = plain.pixel(x, y), *b = cleared.pixel(x, y);
      different += a[0] != b[0] || a[1] != b[1] || a[2] != b[2] ? 1 : 0;
    }
  }
  EXPECT_EQ(different, 0);
}

struct Counts {
  int clears = 0;
  unsigned indices = 0;
};
Counts counts_after(Platform& platform, float least_pixels) {
  platform.begin_frame();
  draw_scene(ImGui::GetBackgroundDrawList());
  ImGui::Render();
  std::vector<OpaqueRectangle> storage;
  clear_opaque_rectangles(*ImGui::GetDrawData(), kGround, least_pixels, storage);
  Counts counts;
  for (const ImDrawList* list : ImGui::GetDrawData()->CmdLists) {
    for (const ImDrawCmd& command : list->CmdBuffer) {
      if (command.UserCallback != nullptr) {
        counts.clears += command.UserCallbackData != nullptr;  // the platform's own callback carries none
      } else {
        counts.indices += command.ElemCount;
      }
    }
  }
  return counts;
}

TEST(OpaqueRectangles, OnlyLargeOpaqueOnesOfOneColourAreCleared) {
  const auto platform = make_offscreen_platform(kSize);
  // Yellow, the clipped teal, the ground's colour over it and the middle of the rounded one; not red, whose
  // edges lie between pixels, the translucent, the gradient, the tiny, nor the first, which repeats the
  // ground over nothing.
  EXPECT_EQ(counts_after(*platform, 100).clears, 5);
  const Counts none = counts_after(*platform, 1e9f);
  EXPECT_EQ(none.clears, 0);
  EXPECT_EQ(none.indices - counts_after(*platform, 100).indices, 6u * 6);
}

}  // namespace opaque_test
}  // namespace shardlens
