// Drawing only the changes gives the same picture as drawing everything, pixel for pixel, and draws little if
// little changed.
#include "ui/platform/changes.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

#include "ui/platform/platform.h"

namespace shardlens {
namespace changes_test {

constexpr PixelSize kSize{640, 400};
constexpr ImU32 kGround = IM_COL32(13, 17, 23, 255);

// Shapes of every kind that panels draw, each made from a number of its own.
void draw_shape(ImDrawList* list, unsigned seed) {
  std::mt19937 random(seed);
  const auto at = [&](float end) { return std::uniform_real_distribution<float>(-20, end)(random); };
  const ImVec2 a(at(640), at(400)), b(a.x + at(120), a.y + at(90));
  const ImU32 colour = IM_COL32(random() % 256, random() % 256, random() % 256, random() % 2 ? 255 : 100);
  switch (random() % 8) {
    case 0:
      return list->AddRectFilled(a, b, colour);
    case 1:
      return list->AddRectFilled(a, {a.x + 90, a.y + 60}, colour, 7);
    case 2:
      return list->AddLine(a, b, colour, 1.5f);
    case 3:
      return list->AddText(a, colour, "reduce-scatter");
    case 4:
      return list->AddTriangleFilled(a, b, {at(640), at(400)}, colour);
    case 5:
      return list->AddCircle(a, 20, colour);
    case 6:
      list->PushClipRect(a, {a.x + 70.3f, a.y + 41.7f}, true);
      list->AddRectFilled({0, 0}, {640, 400}, colour);
      return list->PopClipRect();
    default:
      return list->AddRectFilledMultiColor(a, b, colour, IM_COL32_WHITE, colour, IM_COL32_BLACK);
  }
}

void draw_frame(Platform& platform, const std::vector<unsigned>& shapes) {
  ImGui::GetStyle().Colors[ImGuiCol_WindowBg] = ImGui::ColorConvertU32ToFloat4(kGround);
  platform.begin_frame();
  ImGui::GetBackgroundDrawList()->AddRectFilled({0, 0}, {640, 400}, kGround);
  for (const unsigned shape : shapes) draw_shape(ImGui::GetForegroundDrawList(), shape);
  platform.render();
}

int different_pixels(const Image& a, const Image& b) {
  int different = 0;
  for (int y = 0; y < a.size.height; ++y) {
    for (int x = 0; x < a.size.width; ++x) different += std::memcmp(a.pixel(x, y), b.pixel(x, y), 3) != 0;
  }
  return different;
}

TEST(Changes, DrawingThemAloneGivesTheWholePicture) {
  const auto platform = make_offscreen_platform(kSize);
  std::mt19937 random(1);
  std::vector<unsigned> shapes;
  for (int i = 0; i < 60; ++i) shapes.push_back(random());
  int64_t drawn = 0;
  constexpr int kFrames = 60;
  for (int frame = 0; frame < kFrames; ++frame) {
    for (unsigned i = random() % 4; i > 0; --i) shapes[random() % shapes.size()] = random();
    if (frame % 10 == 9) std::swap(shapes[random() % shapes.size()], shapes.back());  // the order alone
    draw_frame(*platform, shapes);
    drawn += platform->drawn_pixels();
    const Image kept = platform->read_pixels();
    platform->draw_whole();
    draw_frame(*platform, shapes);
    EXPECT_EQ(platform->drawn_pixels(), kSize.width * kSize.height);
    EXPECT_EQ(different_pixels(kept, platform->read_pixels()), 0) << "frame " << frame;
  }
  EXPECT_LT(drawn, int64_t{kFrames} * kSize.width * kSize.height * 2 / 3);
}

TEST(Changes, AFrameLikeTheLastDrawsNothing) {
  const auto platform = make_offscreen_platform(kSize);
  const std::vector<unsigned> shapes{1, 2, 3, 4, 5};
  draw_frame(*platform, shapes);
  EXPECT_EQ(platform->drawn_pixels(), kSize.width * kSize.height) << "nothing was there before";
  draw_frame(*platform, shapes);
  EXPECT_EQ(platform->drawn_pixels(), 0);
  platform->resize({600, 300});
  draw_frame(*platform, shapes);
  EXPECT_EQ(platform->drawn_pixels(), 600 * 300) << "the picture of another size is lost";
  ImGui::GetStyle().Colors[ImGuiCol_WindowBg] = ImVec4(1, 1, 1, 1);
  platform->begin_frame();
  platform->render();
  EXPECT_EQ(platform->drawn_pixels(), 600 * 300) << "the ground is another one";
}

// Whatever one shape has of its own is seen.
TEST(Changes, EveryPropertyOfAShapeCounts) {
  const auto platform = make_offscreen_platform(kSize);
  struct Shape {
    ImVec2 min{100, 100}, max{120, 110}, uv{0, 0};
    ImU32 colour = IM_COL32(200, 100, 50, 255);
    ImVec2 clip{640, 400};
    ImTextureID texture = ImTextureID_Invalid;
  };
  const auto drawn = [&](const Shape& shape) {
    platform->begin_frame();
    ImDrawList* list = ImGui::GetForegroundDrawList();
    list->PushClipRect({0, 0}, shape.clip);
    const ImTextureRef texture =
        shape.texture != ImTextureID_Invalid ? ImTextureRef(shape.texture) : ImGui::GetIO().Fonts->TexRef;
    list->AddImage(texture, shape.min, shape.max, shape.uv, {1, 1}, shape.colour);
    list->PopClipRect();
    platform->render();
    return platform->drawn_pixels();
  };
  const Shape plain;
  drawn(plain);
  ASSERT_EQ(drawn(plain), 0);
  Shape moved = plain, larger = plain, other = plain, coloured = plain, clipped = plain, textured = plain;
  moved.min.x += 0.25f;
  larger.max.y += 1;
  other.uv.x = 0.5f;
  coloured.colour ^= 1;
  clipped.clip.x = 110;
  textured.texture = 1;
  for (const Shape& changed : {moved, larger, other, coloured, clipped, textured}) {
    EXPECT_GT(drawn(changed), 0);
    EXPECT_LE(drawn(plain), 64 * 64) << "two tiles of 32 in each direction at most";
    EXPECT_EQ(drawn(plain), 0);
  }
}

// Two triangles that share a side are looked at together: each of their corners counts.
TEST(Changes, EveryCornerOfAShapeCounts) {
  const auto platform = make_offscreen_platform(kSize);
  const auto drawn = [&](const std::array<ImVec2, 4>& at, bool alone, ImDrawFlags smooth) {
    platform->begin_frame();
    ImDrawList* list = ImGui::GetForegroundDrawList();
    list->Flags = smooth;
    if (alone)
      list->AddTriangleFilled(at[0], at[1], at[2], IM_COL32_WHITE);
    else
      list->AddQuadFilled(at[0], at[1], at[2], at[3], IM_COL32_WHITE);
    platform->render();
    return platform->drawn_pixels();
  };
  const std::array<ImVec2, 4> plain{{{200, 100}, {300, 100}, {300, 200}, {200, 200}}};
  for (const bool alone : {true, false}) {
    for (const ImDrawFlags smooth : {ImDrawFlags_None, ImDrawFlags_AAFill}) {
      drawn(plain, alone, smooth);
      ASSERT_EQ(drawn(plain, alone, smooth), 0);
      for (size_t corner = 0; corner < (alone ? 3u : 4u); ++corner) {
        std::array<ImVec2, 4> moved = plain;
        moved[corner].x += 0.5f;
        EXPECT_GT(drawn(moved, alone, smooth), 0) << "corner " << corner;
        EXPECT_GT(drawn(plain, alone, smooth), 0) << "corner " << corner;
      }
    }
  }
}

TEST(Changes, AreasAreFewAndDoNotMeet) {
  const auto platform = make_offscreen_platform(kSize);
  Changes changes;
  std::mt19937 random(3);
  std::vector<unsigned> shapes(40);
  for (int frame = 0; frame < 20; ++frame) {
    for (int i = 0; i < 12; ++i) shapes[random() % shapes.size()] = random();
    platform->begin_frame();
    for (const unsigned shape : shapes) draw_shape(ImGui::GetForegroundDrawList(), shape);
    ImGui::Render();
    const std::vector<PixelArea>& areas = changes.find(*ImGui::GetDrawData(), kGround, kSize);
    EXPECT_LE(areas.size(), 8u);
    EXPECT_FALSE(areas.empty());
    for (size_t i = 0; i < areas.size(); ++i) {
      EXPECT_FALSE(areas[i].is_empty());
      for (size_t j = 0; j < i; ++j) {
        const bool apart = areas[i].right <= areas[j].left || areas[j].right <= areas[i].left ||
                           areas[i].bottom <= areas[j].top || areas[j].bottom <= areas[i].top;
        EXPECT_TRUE(apart);
      }
    }
  }
}

}  // namespace changes_test
}  // namespace shardlens
