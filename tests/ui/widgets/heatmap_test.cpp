// Heatmaps: colours that represent values, one scale for all ranks, and pictures that are made once and freed
// in time.
#include "ui/widgets/heatmap.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "engine/base/clock.h"
#include "ui/platform/platform.h"

namespace shardlens::ui {
namespace heatmap_test {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Channels {
  int r, g, b;
};
Channels channels(ImU32 colour) {
  return {static_cast<int>(colour >> IM_COL32_R_SHIFT & 255),
          static_cast<int>(colour >> IM_COL32_G_SHIFT & 255),
          static_cast<int>(colour >> IM_COL32_B_SHIFT & 255)};
}

std::shared_ptr<TensorSample> sample(int rows, int cols, std::vector<float> values) {
  auto result = std::make_shared<TensorSample>();
  result->matrix = {rows, cols};
  result->picture = {rows, cols, std::move(values), {}};
  measure_extent(result->picture);
  return result;
}

TEST(Colour, SignedRunsFromBlueThroughNearWhiteToOrange) {
  const ColourScale scale{ColourMap::Signed, 2.0};
  EXPECT_EQ(colour_of(-2, scale), IM_COL32(0x2C, 0x7B, 0xD6, 255));
  EXPECT_EQ(colour_of(2, scale), IM_COL32(0xD9, 0x73, 0x1A, 255));
  const Channels zero = channels(colour_of(0, scale));
  EXPECT_GT(std::min({zero.r, zero.g, zero.b}), 235);
  EXPECT_LT(std::max({zero.r, zero.g, zero.b}) - std::min({zero.r, zero.g, zero.b}), 8) << "zero has no hue";
}

TEST(Colour, EqualMagnitudesAreEquallyStrong) {
  const ColourScale scale{ColourMap::Signed, 1.0};
  const Channels zero = channels(colour_of(0, scale));
  double before = 0;
  for (const double v : {0.25, 0.5, 0.75, 1.0}) {
    const auto strength = [&](double value) {
      const Channels c = channels(colour_of(value, scale));
      return std::abs(c.r - zero.r) + std::abs(c.g - zero.g) + std::abs(c.b - zero.b);
    };
    EXPECT_GT(strength(v), before);
    EXPECT_NEAR(strength(v) / strength(-v), 1, 0.2);
    before = strength(v);
  }
}

TEST(Colour, BeyondTheLimitIsTheEnd) {
  for (const ColourMap map : {ColourMap::Signed, ColourMap::Magnitude}) {
    const ColourScale scale{map, 0.5};
    EXPECT_EQ(colour_of(0.5, scale), colour_of(1e30, scale));
    EXPECT_EQ(colour_of(0.5, scale), colour_of(std::numeric_limits<double>::infinity(), scale));
  }
  EXPECT_EQ(colour_of(-0.5, {ColourMap::Signed, 0.5}), colour_of(-7, {ColourMap::Signed, 0.5}));
}

TEST(Colour, MagnitudeBrightensAllTheWay) {
  double before = -1;
  for (int i = 0; i <= 32; ++i) {
    const Channels c = channels(colour_of(i / 32.0, {ColourMap::Magnitude, 1.0}));
    const double luminance = 0.2126 * c.r + 0.7152 * c.g + 0.0722 * c.b;
    EXPECT_GT(luminance, before) << i;
    before = luminance;
  }
}

TEST(Colour, NotANumberIsInNeitherMap) {
  for (const ColourMap map : {ColourMap::Signed, ColourMap::Magnitude}) {
    const ColourScale scale{map, 1.0};
    const Channels nan = channels(colour_of(kNan, scale));
    for (int i = -100; i <= 100; ++i) {
      const Channels c = channels(colour_of(i / 100.0, scale));
      EXPECT_GT(std::abs(c.r - nan.r) + std::abs(c.g - nan.g) + std::abs(c.b - nan.b), 100);
    }
  }
}

TEST(CommonScale, IsOneForAllRanks) {
  const auto small = sample(1, 4, {0.1f, -0.1f, 0.1f, -0.1f}), large = sample(1, 4, {1, -1, 1, -1});
  const double both = common_scale({small, large}).limit;
  EXPECT_DOUBLE_EQ(both, 1.0);  // three times the rms is more than the largest
  EXPECT_NEAR(common_scale({small, nullptr}).limit, 0.1, 1e-7);
}

TEST(CommonScale, OneOutlierDoesNotFadeTheRest) {
  std::vector<float> values(1000, 0.5f);
  values[17] = 100;
  const double limit = common_scale({sample(10, 100, values)}).limit;
  EXPECT_LT(limit, 11);
}

TEST(CommonScale, LeavesOutWhatIsNotANumberAndIsNeverZero) {
  EXPECT_NEAR(common_scale({sample(1, 3, {kNan, 0.5f, -0.5f})}).limit, 0.5, 1e-7);
  EXPECT_GT(common_scale({sample(1, 2, {0, 0})}).limit, 0);
  EXPECT_GT(common_scale({}).limit, 0);
}

TEST(Stride, KeepsTexelsAtTheSizeAsked) {
  EXPECT_EQ(stride_for(256, 256, 512, 512, 2), (Stride{1, 1}));
  EXPECT_EQ(stride_for(256, 256, 128, 512, 2), (Stride{1, 4}));
  for (const float pixels : {10.f, 48.f, 155.f, 300.f, 5000.f}) {
    const Stride stride = stride_for(200, 200, pixels, pixels, 1.5f);
    EXPECT_GE(pixels / 200 * static_cast<float>(stride.cols), 1.5f);
  }
}

TEST(Thinned, KeepsValuesAsTheyAre) {
  const Picture picture{2, 5, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {}};
  const Picture thin = thinned(picture, {2, 2});
  EXPECT_EQ(thin.rows, 1);
  EXPECT_EQ(thin.cols, 3);
  EXPECT_EQ(thin.values, (std::vector<float>{1, 3, 5}));
}

TEST(Thinned, NeverLosesANotANumber) {
  Picture picture{8, 8, std::vector<float>(64, 1.0f), {}};
  picture.values[63] = kNan;
  for (const bool measured : {false, true}) {
    if (measured) measure_extent(picture);
    const Picture thin = thinned(picture, {8, 4});
    ASSERT_EQ(thin.values.size(), 2u);
    EXPECT_EQ(thin.values[0], 1.0f);
    EXPECT_TRUE(std::isnan(thin.values[1]));
  }
}

class HeatmapTextures : public ::testing::Test {
 protected:
  template <class Draw>
  Image frame(Draw draw) {
    platform->begin_frame();
    draw(ImGui::GetForegroundDrawList());
    platform->render();
    Image image = platform->read_pixels();
    platform->present();
    heatmaps.end_frame();
    return image;
  }
  static ImU32 colour_at(const Image& image, int x, int y) {
    const std::uint8_t* p = image.pixel(x, y);
    return IM_COL32(p[0], p[1], p[2], 255);
  }

  std::unique_ptr<Platform> platform = make_offscreen_platform({256, 128});
  Heatmaps heatmaps;
};

TEST_F(HeatmapTextures, ShowsEveryCellAtItsPlaceWithHardEdges) {
  const ColourScale scale{ColourMap::Signed, 1};
  const auto two_by_two = sample(2, 2, {-1, 1, 0, kNan});
  const Image image = frame([&](ImDrawList* list) {
    heatmaps.draw(list, {20, 10}, {120, 110}, two_by_two, two_by_two->picture, scale);
  });
  EXPECT_EQ(colour_at(image, 21, 11), colour_of(-1, scale));
  EXPECT_EQ(colour_at(image, 69, 59), colour_of(-1, scale));
  EXPECT_EQ(colour_at(image, 70, 11), colour_of(1, scale));
  EXPECT_EQ(colour_at(image, 119, 59), colour_of(1, scale));
  EXPECT_EQ(colour_at(image, 21, 60), colour_of(0, scale));
  EXPECT_EQ(colour_at(image, 119, 109), colour_of(kNan, scale));
}

TEST_F(HeatmapTextures, ShowsThePartAsked) {
  const ColourScale scale{ColourMap::Signed, 1};
  const auto row = sample(1, 4, {-1, 1, 0.5f, -0.5f});
  const Image image = frame([&](ImDrawList* list) {
    heatmaps.draw(list, {0, 0}, {100, 50}, row, row->picture, scale, {0.25f, 0}, {0.75f, 1});
  });
  EXPECT_EQ(colour_at(image, 25, 25), colour_of(1, scale));
  EXPECT_EQ(colour_at(image, 75, 25), colour_of(0.5, scale));
}

TEST_F(HeatmapTextures, ExactElementsMeetAtTheSeamsOfTiles) {
  constexpr int rows = 3, cols = 300;  // three tiles
  auto exact = sample(rows, cols, {});
  exact->dtype = DType::Fp32;
  std::vector<float> values;
  for (int i = 0; i < rows * cols; ++i) values.push_back(static_cast<float>(i % cols) / cols);
  exact->exact.resize(values.size() * sizeof(float));
  std::memcpy(exact->exact.data(), values.data(), exact->exact.size());
  const ColourScale scale{ColourMap::Magnitude, 1};
  const Image image = frame([&](ImDrawList* list) {
    heatmaps.draw_exact(list, {0, 0}, {250, 30}, exact, scale, {0, 3}, {100, 150});
  });
  for (int col = 100; col < 150; ++col) {
    EXPECT_EQ(colour_at(image, (col - 100) * 5 + 2, 15), colour_of(col / 300.0, scale)) << col;
  }
}

TEST_F(HeatmapTextures, APictureIsMadeOnceAndForgottenWhenNobodyLooks) {
  const auto first = sample(4, 4, std::vector<float>(16, 1.0f)),
             second = sample(4, 4, std::vector<float>(16, 1.0f));
  const auto draw = [&](const std::shared_ptr<TensorSample>& shown) {
    frame([&](ImDrawList* list) { heatmaps.draw(list, {0, 0}, {40, 40}, shown, shown->picture, {}); });
  };
  for (int i = 0; i < 10; ++i) draw(first);
  EXPECT_EQ(heatmaps.pictures(), 1u);
  draw(second);
  EXPECT_EQ(heatmaps.pictures(), 2u) << "a new run has new pictures, also when the numbers are the same";
  for (int i = 0; i < 200; ++i) draw(second);
  EXPECT_EQ(heatmaps.pictures(), 1u);
  const double begin = now_seconds();  // another thread lets go
  while (first.use_count() > 1 && now_seconds() - begin < 60)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(first.use_count(), 1) << "the cache lets go of the data it showed";
}

// Where the middle of a pixel falls on the edge of two cells, as it does somewhere for most of these widths.
TEST_F(HeatmapTextures, APictureIsTheSameWhereverItLiesInItsPage) {
  Image first;
  for (int run = 0; run < 60; ++run) {
    const Image image = frame([&](ImDrawList* list) {
      for (int line = 0; line < 60; ++line) {
        const int cols = 7 + line % 20;
        std::vector<float> values(static_cast<size_t>(cols));
        for (int col = 0; col < cols; ++col) values[static_cast<size_t>(col)] = col % 2 == 0 ? 1.0f : -1.0f;
        const auto shown = sample(1, cols, values);
        const auto y = static_cast<float>(2 * line);
        heatmaps.draw(list, {3, y}, {static_cast<float>(3 + 2 * cols + line), y + 2}, shown, shown->picture,
                      {});
      }
    });
    if (run == 0) first = image;
    ASSERT_EQ(image.rgba, first.rgba) << run;
  }
}

TEST_F(HeatmapTextures, PagesDoNotGrowWithEveryRunAndShowTheNewest) {
  for (int run = 0; run < 400; ++run) {
    const float value = static_cast<float>(run % 7 - 3) / 3;
    const auto shown = sample(256, 256, std::vector<float>(256 * 256, value));
    const Image image = frame([&](ImDrawList* list) {
      heatmaps.draw(list, {0, 0}, {400, 400}, shown, shown->picture, {});
    });
    ASSERT_EQ(colour_at(image, 100, 100), colour_of(value, {})) << run;
  }
  EXPECT_LE(heatmaps.pages(), 3u);
}

}  // namespace heatmap_test
}  // namespace shardlens::ui
