// Drawing without a display: what Dear ImGui draws arrives in the pixels, upright, with docking and all
// fonts.
#include <gtest/gtest.h>
#include <icons_font_awesome_4.h>
#include <imgui_internal.h>

#include <array>
#include <vector>

#include "engine/base/error.h"
#include "ui/platform/platform.h"

namespace shardlens {
namespace offscreen_platform_test {

constexpr ImU32 ground = IM_COL32(13, 17, 23, 255);
constexpr ImU32 amber = IM_COL32(242, 169, 59, 255);

ImU32 colour_at(const Image& image, int x, int y) {
  const std::uint8_t* p = image.pixel(x, y);
  return IM_COL32(p[0], p[1], p[2], 255);
}

// One frame of `draw(list)` over the ground colour.
template <typename Draw>
Image frame(Platform& platform, Draw draw) {
  ImGui::GetStyle().Colors[ImGuiCol_WindowBg] = ImGui::ColorConvertU32ToFloat4(ground);
  platform.begin_frame();
  draw(ImGui::GetForegroundDrawList());
  platform.render();
  Image image = platform.read_pixels();
  platform.present();
  return image;
}

TEST(OffscreenPlatform, DrawsARectangleAtItsPlace) {
  const auto platform = make_offscreen_platform({320, 200});
  const Image image = frame(*platform, [](ImDrawList* list) {
    list->AddRectFilled({40, 20}, {100, 60}, amber);
  });
  ASSERT_EQ(image.size, (PixelSize{320, 200}));
  EXPECT_EQ(colour_at(image, 70, 40), amber);
  EXPECT_EQ(colour_at(image, 40, 20), amber);
  EXPECT_EQ(colour_at(image, 99, 59), amber);
  EXPECT_EQ(colour_at(image, 70, 19), ground);
  EXPECT_EQ(colour_at(image, 70, 60), ground);
  EXPECT_EQ(colour_at(image, 70, 199 - 40), ground) << "the picture is upside down";
}

TEST(OffscreenPlatform, DrawsTextInEveryFontAtAnySize) {
  const auto platform = make_offscreen_platform({320, 200});
  const ui::Fonts& fonts = platform->fonts();
  for (ImFont* font : {fonts.body, fonts.bold, fonts.italic, fonts.mono}) {
    for (const float size : {13.0F, 15.0F, 24.0F}) {
      const Image image = frame(*platform, [&](ImDrawList* list) {
        list->AddText(font, size, {10, 10}, amber, "HHH");
      });
      int inked = 0;
      for (int y = 10; y < 10 + static_cast<int>(size); ++y) {
        for (int x = 10; x < 60; ++x) inked += colour_at(image, x, y) != ground ? 1 : 0;
      }
      EXPECT_GT(inked, static_cast<int>(size)) << "size " << size;
    }
  }
}

TEST(OffscreenPlatform, EveryFontHasTheCharactersTheStudioWrites) {
  const auto platform = make_offscreen_platform({64, 64});
  // Multiplication sign, minus, arrows, square root, sum, element of, Greek, partial derivative, ellipsis.
  constexpr std::array<ImWchar, 12> characters{0xD7,   0x2212, 0x2190, 0x2192, 0x221A, 0x2211,
                                               0x2208, 0x3B1,  0x394,  0x2202, 0x2026, 0xB7};
  const ui::Fonts& fonts = platform->fonts();
  for (ImFont* font : {fonts.body, fonts.bold, fonts.italic, fonts.mono}) {
    for (const ImWchar character : characters)
      EXPECT_TRUE(font->IsGlyphInFont(character)) << std::hex << character;
  }
  unsigned icon = 0;
  ImTextCharFromUtf8(&icon, ICON_FA_PLAY, nullptr);
  EXPECT_TRUE(fonts.body->IsGlyphInFont(static_cast<ImWchar>(icon)));
}

TEST(OffscreenPlatform, ResizesAndDrawsAtTheNewSize) {
  const auto platform = make_offscreen_platform({320, 200});
  platform->resize({1920, 1080});
  const Image image = frame(*platform, [](ImDrawList* list) {
    list->AddRectFilled({1800, 1000}, {1900, 1070}, amber);
  });
  ASSERT_EQ(image.size, (PixelSize{1920, 1080}));
  EXPECT_EQ(colour_at(image, 1850, 1050), amber);
}

TEST(OffscreenPlatform, DockingIsOn) {
  const auto platform = make_offscreen_platform({64, 64});
  EXPECT_TRUE(ImGui::GetIO().ConfigFlags & ImGuiConfigFlags_DockingEnable);
}

// Somebody quick, or xdotool, does all of it between two frames, and lets go of the modifier first.
TEST(OffscreenPlatform, AChordStruckWithinOneFrameKeepsItsModifier) {
  const auto platform = make_offscreen_platform({64, 64});
  ImGuiIO& io = ImGui::GetIO();
  std::vector<ImGuiKeyChord> struck;
  const auto frames = [&] {
    for (int i = 0; i < 12; ++i) {
      frame(*platform, [&](ImDrawList*) {
        for (const ImGuiKey key : {ImGuiKey_P, ImGuiKey_Home, ImGuiKey_RightArrow})
          if (ImGui::IsKeyPressed(key, false)) struck.push_back(io.KeyMods | key);
      });
    }
  };
  const auto press = [&](ImGuiKey modifier, ImGuiKey flag, ImGuiKey key) {
    io.AddKeyEvent(flag, true);
    io.AddKeyEvent(modifier, true);
    io.AddKeyEvent(key, true);
    io.AddKeyEvent(flag, false);
    io.AddKeyEvent(modifier, false);
    io.AddKeyEvent(key, false);
  };
  frames();
  press(ImGuiKey_LeftCtrl, ImGuiMod_Ctrl, ImGuiKey_P);
  frames();
  EXPECT_EQ(struck, (std::vector<ImGuiKeyChord>{ImGuiMod_Ctrl | ImGuiKey_P}));

  struck.clear();
  io.AddKeyEvent(ImGuiMod_Ctrl, true);  // and the modifier a frame earlier
  io.AddKeyEvent(ImGuiKey_LeftCtrl, true);
  frames();
  io.AddKeyEvent(ImGuiKey_P, true);
  io.AddKeyEvent(ImGuiMod_Ctrl, false);
  io.AddKeyEvent(ImGuiKey_LeftCtrl, false);
  io.AddKeyEvent(ImGuiKey_P, false);
  frames();
  EXPECT_EQ(struck, (std::vector<ImGuiKeyChord>{ImGuiMod_Ctrl | ImGuiKey_P}));

  struck.clear();
  io.AddKeyEvent(ImGuiKey_Home, true);  // a plain key, and another one's modifier after it
  io.AddKeyEvent(ImGuiKey_Home, false);
  press(ImGuiKey_LeftShift, ImGuiMod_Shift, ImGuiKey_RightArrow);
  frames();
  EXPECT_EQ(struck, (std::vector<ImGuiKeyChord>{ImGuiKey_Home, ImGuiMod_Shift | ImGuiKey_RightArrow}));
}

TEST(OffscreenPlatform, AnImpossibleSizeIsARequestErrorThatNamesTheRange) {
  for (const PixelSize size : {PixelSize{0, 100}, PixelSize{100, -1}, PixelSize{1 << 20, 100}}) {
    try {
      make_offscreen_platform(size);
      FAIL() << size.width << "x" << size.height;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Request);
      EXPECT_NE(std::string(error.what()).find("between 1 and"), std::string::npos) << error.what();
    }
  }
}

}  // namespace offscreen_platform_test
}  // namespace shardlens
