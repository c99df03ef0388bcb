// Rectangles lie on whole pixels, and a rectangle that covers anything covers at least one pixel.
#include "ui/widgets/paint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "ui/platform/platform.h"
#include "ui/widgets/tape.h"

namespace shardlens::ui {
namespace paint_test {

class Rectangles : public ::testing::Test {
 protected:
  Rectangles() : platform_(make_offscreen_platform({100, 100})) { platform_->begin_frame(); }
  ~Rectangles() override { ImGui::EndFrame(); }

  const std::unique_ptr<Platform> platform_;
  int triangles_ = 0;

  /// The corners of what `draw` adds to a draw list.
  std::vector<ImVec2> drawn(const auto& draw) {
    ImDrawList* list = ImGui::GetForegroundDrawList();
    const int before = list->VtxBuffer.Size, indices = list->IdxBuffer.Size;
    draw(list);
    triangles_ = (list->IdxBuffer.Size - indices) / 3;
    std::vector<ImVec2> corners;
    for (int i = before; i < list->VtxBuffer.Size; ++i) corners.push_back(list->VtxBuffer[i].pos);
    return corners;
  }
};

// 13 pixels at 1.6 are 20.8: a letter that is drawn narrower than it is kept would lose a column.
TEST_F(Rectangles, OfLettersAreAsLargeAsTheyAreKept) {
  ImDrawList* list = ImGui::GetForegroundDrawList();
  const int before = list->VtxBuffer.Size;
  draw_text(list, {10, 10}, {ImGui::GetFont(), 20.8f, IM_COL32_WHITE}, "layer 0");
  ASSERT_EQ(list->VtxBuffer.Size - before, 6 * 4);  // a space is not drawn
  const auto atlas = static_cast<float>(ImGui::GetIO().Fonts->TexData->Width);
  for (int letter = before; letter < list->VtxBuffer.Size; letter += 4) {
    const ImDrawVert &first = list->VtxBuffer[letter], &opposite = list->VtxBuffer[letter + 2];
    EXPECT_NEAR(opposite.pos.x - first.pos.x, (opposite.uv.x - first.uv.x) * atlas, 0.01f);
  }
}

// Near an edge too: the library leaves out letters that it takes for outside.
TEST_F(Rectangles, OfLettersThatGoUpwardsStandAboveWhereTheyBegin) {
  const TextStyle style{ImGui::GetFont(), 14, IM_COL32_WHITE};
  const float width = text_width(style, "dWproj");
  for (const float x : {10.0f, 50.0f, 92.0f}) {
    const auto corners = drawn([&](ImDrawList* list) { draw_text_upwards(list, {x, 90}, style, "dWproj"); });
    ASSERT_EQ(corners.size(), 6u * 4);
    float top = 100;
    for (const ImVec2& corner : corners) {
      EXPECT_NEAR(corner.x, x, style.size / 2 + 2);
      EXPECT_LE(corner.y, 91);
      top = std::min(top, corner.y);
    }
    EXPECT_NEAR(top, 90 - width, 3);
  }
}

// The name of an old file: Dear ImGui would take ".s" for a part of the character that the byte before
// begins.
TEST_F(Rectangles, OfATextThatIsNotUtf8HideNoLetter) {
  const TextStyle style{ImGui::GetFont(), 15, IM_COL32_WHITE};
  const std::string name = "caf\xe9.shardlens", spelled = "caf\\xe9.shardlens";
  const auto corners = [&](const std::string& text) {
    return drawn([&](ImDrawList* list) { draw_text(list, {10, 10}, style, text); }).size();
  };
  EXPECT_EQ(corners(name), corners(spelled));
  EXPECT_EQ(text_width(style, name), text_width(style, spelled));
  EXPECT_EQ(fitted(style, name, 1000), spelled);
  EXPECT_EQ(fitted_in_middle(style, "/a/" + name, 1000), "/a/" + name) << "it fits: draw_text() spells it";
}

TEST_F(Rectangles, HaveEdgesOnPixelsAndTwoTriangles) {
  const auto corners = drawn([](ImDrawList* list) {
    fill_rect(list, {10.4f, 20.6f}, {30.5f, 40.2f}, IM_COL32_WHITE);
  });
  ASSERT_EQ(corners.size(), 4u);
  EXPECT_EQ(triangles_, 2);
  EXPECT_EQ(corners[0].x, 10);
  EXPECT_EQ(corners[0].y, 21);
  EXPECT_EQ(corners[2].x, 31);
  EXPECT_EQ(corners[2].y, 40);
}

TEST_F(Rectangles, KeepAPixelUnlessTheyAreEmpty) {
  const auto thin = drawn([](ImDrawList* list) {
    fill_rect(list, {10.1f, 20}, {10.3f, 40}, IM_COL32_WHITE);
  });
  ASSERT_EQ(thin.size(), 4u);
  EXPECT_EQ(thin[2].x - thin[0].x, 1);
  EXPECT_TRUE(drawn([](ImDrawList* list) { fill_rect(list, {10, 20}, {10, 40}, IM_COL32_WHITE); }).empty());
}

TEST_F(Rectangles, AreOutlinedByWholePixelsInside) {
  const auto corners = drawn([](ImDrawList* list) {
    outline_rect(list, {10.2f, 20}, {30, 40.4f}, IM_COL32_WHITE, 0, 1.2f);
  });
  ASSERT_FALSE(corners.empty());
  for (const ImVec2 corner : corners) {
    EXPECT_EQ(corner.x, std::round(corner.x));
    EXPECT_TRUE(corner.x >= 10 && corner.x <= 30 && corner.y >= 20 && corner.y <= 40);
  }
}

// Dear ImGui alone would end the first line behind "mlp.".
TEST_F(Rectangles, StayWholeAroundANameWhereTextIsWrapped) {
  const TextStyle style{ImGui::GetFont(), 13, IM_COL32_WHITE};
  ImDrawList* list = ImGui::GetForegroundDrawList();
  const auto lines = [&](const char* text, const char* widest) {
    Tape tape;
    ImGui::GetIO().UserData = &tape;
    const float width = text_width(style, widest) + 2;
    const float height = draw_wrapped(list, {10, 10}, style, text, width);
    EXPECT_EQ(height, wrapped_height(style, text, width));
    ImGui::GetIO().UserData = nullptr;
    std::vector<std::string> found;
    for (const TapeMark& mark : tape.marks()) {
      const auto& words = std::get<mark::Words>(mark.what);
      EXPECT_EQ(words.at.y, 10 + 13 * static_cast<float>(found.size()));
      found.push_back(words.text);
    }
    EXPECT_EQ(height, 13 * static_cast<float>(found.size()));
    return found;
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines("qkv row, mlp.proj row", "qkv row, mlp.p"), (Lines{"qkv row,", "mlp.proj row"}));
  EXPECT_EQ(lines("sends just 1,024 bytes", "sends just 1,02"), (Lines{"sends just", "1,024 bytes"}));
  EXPECT_EQ(lines("at loss.sumexp", "loss.sum").front(), "at") << "though no line holds the rest";
}

}  // namespace paint_test
}  // namespace shardlens::ui
