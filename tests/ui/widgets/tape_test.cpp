// A tape keeps what is drawn unchanged and in its order, and keeps nothing that cannot be seen.
#include "ui/widgets/tape.h"

#include <gtest/gtest.h>

#include "ui/platform/platform.h"
#include "ui/widgets/heatmap.h"

namespace shardlens::ui {
namespace tape_test {

class Tapes : public ::testing::Test {
 protected:
  Tapes() : platform_(make_offscreen_platform({200, 200})) {
    platform_->begin_frame();
    ImGui::GetIO().UserData = &tape_;
    list_ = ImGui::GetForegroundDrawList();
    vertices_ = list_->VtxBuffer.Size;
  }
  ~Tapes() override {
    ImGui::GetIO().UserData = nullptr;
    EXPECT_EQ(list_->VtxBuffer.Size, vertices_) << "what is noted is not drawn as well";
    ImGui::EndFrame();
  }

  TextStyle style() const { return {platform_->fonts().body, 15, IM_COL32_WHITE}; }
  template <class What>
  const What& mark(size_t i) const {
    return std::get<What>(tape_.marks().at(i).what);
  }

  const std::unique_ptr<Platform> platform_;
  Tape tape_;
  ImDrawList* list_ = nullptr;
  int vertices_ = 0;
};

TEST_F(Tapes, NoteWhatIsDrawn) {
  fill_rect(list_, {10, 10}, {30, 20}, IM_COL32_WHITE, 3);
  outline_rect(list_, {10, 10}, {30, 20}, IM_COL32_WHITE);
  draw_line(list_, {0, 0}, {5, 5}, IM_COL32_WHITE, 2);
  fill_triangle(list_, {0, 0}, {5, 5}, {0, 5}, IM_COL32_WHITE);
  draw_text(list_, {20, 20}, style(), "dX = dY · Wᵀ", Align::Centre);
  ASSERT_EQ(tape_.marks().size(), 5u);
  EXPECT_EQ(mark<mark::Fill>(0).rounding, 3);
  EXPECT_EQ(mark<mark::Words>(4).text, "dX = dY · Wᵀ");
  EXPECT_EQ(mark<mark::Words>(4).align, Align::Centre);
}

TEST_F(Tapes, WordsThatGoUpwardsAreSeenWhereTheyStand) {
  draw_text_upwards(list_, {190, 195}, style(), "a name at the edge");
  draw_text_upwards(list_, {100, -5}, style(), "a name above it");
  ASSERT_EQ(tape_.marks().size(), 1u);
  EXPECT_TRUE(mark<mark::Words>(0).upwards);
  EXPECT_FALSE(tape_.marks()[0].clipped);
}

TEST_F(Tapes, LayersLieInTheirOrder) {
  fill_rect(list_, {0, 0}, {10, 10}, 1);
  split_layers(list_, 3);
  choose_layer(list_, 2);
  fill_rect(list_, {0, 0}, {10, 10}, 4);
  choose_layer(list_, 0);
  fill_rect(list_, {0, 0}, {10, 10}, 2);
  fill_rect(list_, {0, 0}, {10, 10}, 3);
  join_layers(list_);
  fill_rect(list_, {0, 0}, {10, 10}, 5);
  ASSERT_EQ(tape_.marks().size(), 5u);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(mark<mark::Fill>(i).colour, i + 1);
}

TEST_F(Tapes, WhatIsCutAwayIsLeftOutOrSaid) {
  list_->PushClipRect({10, 10}, {50, 50}, true);
  fill_rect(list_, {60, 10}, {70, 20}, 1);
  fill_rect(list_, {40, 10}, {60, 20}, 2);
  fill_rect(list_, {20, 20}, {30, 30}, 3);
  list_->PopClipRect();
  ASSERT_EQ(tape_.marks().size(), 2u);
  EXPECT_TRUE(tape_.marks()[0].clipped);
  EXPECT_EQ(tape_.marks()[0].clip_max.x, 50);
  EXPECT_FALSE(tape_.marks()[1].clipped);
}

TEST_F(Tapes, WrappedTextIsALineAfterTheOther) {
  const std::string text = "one line and then\nanother that is longer than the room";
  const float height = draw_wrapped(list_, {0, 0}, style(), text, 120);
  EXPECT_EQ(height, wrapped_height(style(), text, 120));
  std::string joined;
  for (size_t i = 0; i < tape_.marks().size(); ++i) {
    EXPECT_EQ(mark<mark::Words>(i).at.y, 15 * static_cast<float>(i));
    EXPECT_LE(text_width(style(), mark<mark::Words>(i).text), 120);
    joined += (i > 0 ? " " : "") + mark<mark::Words>(i).text;
  }
  EXPECT_EQ(joined, "one line and then another that is longer than the room");
}

TEST_F(Tapes, AHeatmapIsItsCells) {
  Picture picture;
  picture.rows = 2;
  picture.cols = 2;
  picture.values = {-1, 0, 0, 1};
  Heatmaps heatmaps;
  const auto owner = std::make_shared<int>(0);
  heatmaps.draw(list_, {0, 0}, {100, 50}, owner, picture, {ColourMap::Signed, 1}, {0.5f, 0}, {1, 1});
  ASSERT_EQ(tape_.marks().size(), 1u);
  const mark::Pixels& pixels = mark<mark::Pixels>(0);
  ASSERT_EQ(pixels.image->size, (PixelSize{2, 2}));
  EXPECT_EQ(pixels.min.x, -100);  // the right half is seen, so the left one lies outside
  EXPECT_EQ(pixels.max.x, 100);
  EXPECT_EQ(tape_.marks()[0].clip_min.x, 0);
  const ImU32 last = colour_of(1, {ColourMap::Signed, 1});
  EXPECT_EQ(pixels.image->pixel(1, 1)[0], last >> IM_COL32_R_SHIFT & 255);
  EXPECT_EQ(pixels.image->pixel(1, 1)[2], last >> IM_COL32_B_SHIFT & 255);
  EXPECT_EQ(heatmaps.pictures(), 0u) << "no texture is made for paper";
}

}  // namespace tape_test
}  // namespace shardlens::ui
