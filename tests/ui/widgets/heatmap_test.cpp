// Heatmaps: colours that represent values, one scale for all ranks, and pictures that are made once and freed
// in time.
#include "ui/widgets/heatmap.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <thread>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "ui/platform/platform.h"
#include "ui/platform/value_shader.h"

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

// Everything that is drawn holds for both ways.
class HeatmapTextures : public ::testing::TestWithParam<ColoursBy> {
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

  std::unique_ptr<Platform> platform = make_offscreen_platform({256, 128}, GetParam());
  Heatmaps heatmaps;
};

TEST_P(HeatmapTextures, ShowsEveryCellAtItsPlaceWithHardEdges) {
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

TEST_P(HeatmapTextures, ShowsThePartAsked) {
  const ColourScale scale{ColourMap::Signed, 1};
  const auto row = sample(1, 4, {-1, 1, 0.5f, -0.5f});
  const Image image = frame([&](ImDrawList* list) {
    heatmaps.draw(list, {0, 0}, {100, 50}, row, row->picture, scale, {0.25f, 0}, {0.75f, 1});
  });
  EXPECT_EQ(colour_at(image, 25, 25), colour_of(1, scale));
  EXPECT_EQ(colour_at(image, 75, 25), colour_of(0.5, scale));
}

TEST_P(HeatmapTextures, ExactElementsMeetAtTheSeamsOfTiles) {
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

TEST_P(HeatmapTextures, APictureIsMadeOnceAndForgottenWhenNobodyLooks) {
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
TEST_P(HeatmapTextures, APictureIsTheSameWhereverItLiesInItsPage) {
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

TEST_P(HeatmapTextures, PagesDoNotGrowWithEveryRunAndShowTheNewest) {
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

INSTANTIATE_TEST_SUITE_P(, HeatmapTextures, ::testing::Values(ColoursBy::Shader, ColoursBy::Processor),
                         [](const auto& by) { return word_of(kColoursByWords, by.param); });

// A picture with every kind of value, larger than most places for it.
std::shared_ptr<TensorSample> of_every_kind(bool with_nan) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> values;
  for (int i = 0; i < 200 * 150; ++i) {
    const auto t = static_cast<float>(i);
    values.push_back(std::sin(t * 0.37f) * std::exp(std::cos(t * 0.011f) * 4));
  }
  values[3000] = 0;
  values[3001] = -0.0f;
  values[3002] = 1e-40f;  // smaller than what a renderer must be able to hold
  values[3003] = std::numeric_limits<float>::max();
  if (with_nan) {
    values[7] = values[12345] = kNan;
    values[8] = infinity;
    values[9] = -infinity;
  }
  return sample(200, 150, values);
}

Image drawn_by(ColoursBy by, const std::function<void(Heatmaps&, ImDrawList*)>& draw) {
  const auto platform = make_offscreen_platform({500, 400}, by);
  Heatmaps heatmaps;
  platform->begin_frame();
  draw(heatmaps, ImGui::GetBackgroundDrawList());
  platform->render();
  return platform->read_pixels();
}

// In signed scales, magnitudes and the scales of errors, whole and thinned, in part, faded and cut.
TEST(HeatmapWays, GiveTheSamePictureWithinOneStepOfColour) {
  for (const bool with_nan : {false, true}) {
    const auto shown = of_every_kind(with_nan);
    for (const ColourScale scale :
         {ColourScale{ColourMap::Signed, 2.3}, ColourScale{ColourMap::Signed, 1e-6},
          ColourScale{ColourMap::Magnitude, 31.7}, ColourScale{ColourMap::Magnitude, 1e-9},
          ColourScale{ColourMap::Signed, 1e30}, ColourScale{ColourMap::Magnitude, 0}}) {
      const auto draw = [&](Heatmaps& heatmaps, ImDrawList* list) {
        const auto place = [&](float x, float y, float width, float height, ImVec2 uv0 = {0, 0},
                               ImVec2 uv1 = {1, 1}, float opacity = 1) {
          heatmaps.draw(list, {x, y}, {x + width, y + height}, shown, shown->picture, scale, uv0, uv1,
                        opacity);
        };
        place(0, 0, 300, 310);
        place(303.5f, 2.25f, 90, 71);  // thinned by the shader
        place(303, 80, 31, 200);
        place(340, 80, 11, 9);  // so small that its values are thinned before they are uploaded
        place(360, 80, 100, 60, {0.21f, 0.37f}, {0.55f, 0.89f});
        place(360, 150, 100, 100, {}, {1, 1}, 0.35f);
        list->PushClipRect({405, 5}, {450, 50});
        place(380, -20, 200, 100);
        list->PopClipRect();
        list->AddRectFilled({10, 320}, {90, 390}, IM_COL32(30, 90, 200, 255), 6);  // usual drawing goes on
        place(20, 330, 50, 50);
        list->AddText({100, 330}, IM_COL32_WHITE, "after a heatmap");
      };
      const Image shader = drawn_by(ColoursBy::Shader, draw),
                  processor = drawn_by(ColoursBy::Processor, draw);
      int largest = 0;
      size_t other = 0;
      for (size_t i = 0; i < shader.rgba.size(); ++i) {
        const int step = std::abs(shader.rgba[i] - processor.rgba[i]);
        largest = std::max(largest, step);
        if (step > 0) ++other;
      }
      EXPECT_LE(largest, 1) << scale.limit << (with_nan ? " with NaN" : "");
      EXPECT_LT(other, shader.rgba.size() / 20) << scale.limit;
    }
  }
}

TEST(HeatmapWays, AnotherScaleUploadsNothingToAShader) {
  for (const ColoursBy by : {ColoursBy::Shader, ColoursBy::Processor}) {
    const auto platform = make_offscreen_platform({256, 128}, by);
    Heatmaps heatmaps;
    const auto shown = sample(2, 2, {-1, 1, 0, 0.5f});
    for (const double limit : {1.0, 2.0, 4.0}) {
      const ColourScale scale{ColourMap::Signed, limit};
      platform->begin_frame();
      heatmaps.draw(ImGui::GetForegroundDrawList(), {0, 0}, {100, 100}, shown, shown->picture, scale);
      platform->render();
      EXPECT_GT(platform->drawn_pixels(), 0) << "a changed scale is drawn";
      const Image image = platform->read_pixels();
      const std::uint8_t* pixel = image.pixel(75, 75);
      const Channels wanted = channels(colour_of(0.5, scale));
      EXPECT_NEAR(pixel[0], wanted.r, 1) << limit;
      EXPECT_NEAR(pixel[2], wanted.b, 1) << limit;
      platform->present();
      heatmaps.end_frame();
    }
    EXPECT_EQ(heatmaps.pictures(), by == ColoursBy::Shader ? 1u : 3u);
  }
}

TEST(HeatmapWays, ZoomingUploadsNothingToAShaderUnlessAHeatmapIsTiny) {
  const auto platform = make_offscreen_platform({512, 512}, ColoursBy::Shader);
  Heatmaps heatmaps;
  const auto shown = sample(256, 256, std::vector<float>(256 * 256, 0.5f));
  for (const float size : {500.f, 250.f, 130.f}) {
    platform->begin_frame();
    heatmaps.draw(ImGui::GetForegroundDrawList(), {0, 0}, {size, size}, shown, shown->picture, {});
    platform->render();
    platform->present();
    heatmaps.end_frame();
  }
  EXPECT_EQ(heatmaps.pictures(), 1u);
}

// A software renderer is slower with the shader. The variable is for a person who wants to try.
TEST(HeatmapWays, ThePlatformChooses) {
  const auto by_shader = [](std::optional<ColoursBy> wanted) {
    const auto platform = make_offscreen_platform({64, 64}, wanted);
    const bool software = platform->renderer().find("llvmpipe") != std::string::npos;
    return std::pair{ValueShader::current() != nullptr, software};
  };
  ::unsetenv("SHARDLENS_HEATMAPS");
  const auto [chosen, software] = by_shader({});
  EXPECT_EQ(chosen, !software);
  ::setenv("SHARDLENS_HEATMAPS", "shader", 1);
  EXPECT_TRUE(by_shader({}).first);
  EXPECT_FALSE(by_shader(ColoursBy::Processor).first);
  ::setenv("SHARDLENS_HEATMAPS", "processor", 1);
  EXPECT_FALSE(by_shader({}).first);
  ::setenv("SHARDLENS_HEATMAPS", "gpu", 1);
  EXPECT_THROW(by_shader({}), Error);
  ::unsetenv("SHARDLENS_HEATMAPS");
}

}  // namespace heatmap_test
}  // namespace shardlens::ui
