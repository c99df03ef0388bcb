// The window on an X server. Without one only the refusal can be tested.
#include <gtest/gtest.h>
#include <imgui.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "tests/ui/platform/x_server.h"
#include "ui/platform/gl.h"
#include "ui/platform/platform.h"

// After the tests' headers, whose names are macros here.
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#define GLFW_EXPOSE_NATIVE_X11
#include <GLFW/glfw3native.h>

namespace shardlens {
namespace window_platform_test {

TEST(WindowPlatform, DrawsWhatTheOffscreenPlatformDraws) {
  if (!has_display()) GTEST_SKIP() << "no X server";
  const auto picture = [](Platform& platform) {
    ImGui::GetIO().MouseDrawCursor = false;
    platform.begin_frame();
    ImDrawList* list = ImGui::GetForegroundDrawList();
    list->AddRectFilled({20, 20}, {180, 90}, IM_COL32(90, 169, 255, 255));
    list->AddText(platform.fonts().bold, 24.0F, {30, 40}, IM_COL32_WHITE, "all-reduce");
    platform.render();
    Image image = platform.read_pixels();
    platform.present();
    return image;
  };
  Image window;
  {
    const auto platform = make_window_platform("shardlens test", PixelSize{640, 360}, VerticalSync::off);
    ASSERT_EQ(platform->framebuffer_size(), (PixelSize{640, 360}));
    window = picture(*platform);
  }
  const auto offscreen = make_offscreen_platform({640, 360});
  EXPECT_EQ(window.rgba == picture(*offscreen).rgba, true);
}

TEST(WindowPlatform, TakesTheWholeScreenAndGoesBack) {
  if (!has_display()) GTEST_SKIP() << "no X server";
  const auto frames = [](Platform& platform) {
    for (int i = 0; i < 3; ++i) {
      platform.begin_frame(0.05);
      platform.render();
      platform.present();
    }
    return platform.framebuffer_size();
  };
  {
    const auto platform = make_window_platform("shardlens test", {}, VerticalSync::off);
    const PixelSize before = frames(*platform);
    const GLFWvidmode* const screen = glfwGetVideoMode(glfwGetPrimaryMonitor());
    platform->set_full_screen(true);
    EXPECT_EQ(frames(*platform), (PixelSize{screen->width, screen->height}));
    platform->set_full_screen(true);
    platform->set_full_screen(false);
    EXPECT_EQ(frames(*platform), before);
  }
  const auto platform = make_window_platform("shardlens test", PixelSize{640, 360}, VerticalSync::off);
  platform->set_full_screen(true);
  EXPECT_EQ(frames(*platform), (PixelSize{640, 360})) << "its size was given";
}

// Two windows, each with its own fonts, sizes and OpenGL: neither may draw into the other.
TEST(WindowPlatform, ASecondWindowIsDrawnBetweenTheFramesOfTheFirst) {
  if (!has_display()) GTEST_SKIP() << "no X server";
  const auto platform = make_window_platform("shardlens test", PixelSize{640, 360}, VerticalSync::off);
  EXPECT_GE(platform->screens(), 1);
  GLFWwindow* const first = glfwGetCurrentContext();
  ImGuiContext* const gui = ImGui::GetCurrentContext();
  auto second = platform->open_second_window("second", {320, 200});
  EXPECT_FALSE(second->should_close());
  for (int i = 0; i < 3; ++i) {
    platform->begin_frame();
    ImGui::GetForegroundDrawList()->AddRectFilled({0, 0}, {640, 360}, IM_COL32(255, 0, 0, 255));
    platform->render();
    platform->present();
    second->draw([&](const ui::Fonts& fonts) {
      EXPECT_NE(ImGui::GetCurrentContext(), gui);
      EXPECT_NE(fonts.body, platform->fonts().body);
      const ImVec2 size = ImGui::GetIO().DisplaySize;
      ImGui::GetForegroundDrawList()->AddRectFilled({0, 0}, size, IM_COL32(0, 0, 255, 255));
      ImGui::GetForegroundDrawList()->AddText(fonts.bold, 24.0F, {30, 40}, IM_COL32_WHITE, "notes");
    });
    EXPECT_EQ(ImGui::GetCurrentContext(), gui);
    EXPECT_EQ(glfwGetCurrentContext(), first);
  }
  const auto first_pixel = [](const Image& image) {
    return std::vector<int>(image.rgba.begin(), image.rgba.begin() + 4);
  };
  const Image picture = second->read_pixels();
  EXPECT_EQ(first_pixel(picture), (std::vector{0, 0, 255, 255}));
  const auto white = std::count(picture.rgba.begin(), picture.rgba.end(), 255);
  EXPECT_GT(white, 2 * int64_t{picture.size.width} * picture.size.height) << "the words";
  platform->begin_frame();
  platform->draw_whole();
  ImGui::GetForegroundDrawList()->AddRectFilled({0, 0}, {640, 360}, IM_COL32(255, 0, 0, 255));
  platform->render();
  EXPECT_EQ(first_pixel(platform->read_pixels()), (std::vector{255, 0, 0, 255}));
  second.reset();
  EXPECT_EQ(ImGui::GetCurrentContext(), gui);
  EXPECT_EQ(glfwGetCurrentContext(), first);
  platform->begin_frame();
  platform->render();
  platform->present();
}

TEST(WindowPlatform, WhatASecondWindowThrowsLeavesBothUsable) {
  if (!has_display()) GTEST_SKIP() << "no X server";
  const auto platform = make_window_platform("shardlens test", PixelSize{640, 360}, VerticalSync::off);
  const auto second = platform->open_second_window("second", {320, 200});
  const auto begins_a_window = [](const ui::Fonts&) {
    ImGui::Begin("not ended");
    throw request_error("no page");
  };
  EXPECT_THROW(second->draw(begins_a_window), Error);
  EXPECT_NO_THROW(second->draw([](const ui::Fonts&) { ImGui::Begin("whole"), ImGui::End(); }));
  platform->begin_frame();
  platform->render();
  platform->present();
}

// Several screens side by side can be wider than the largest texture of a graphics card.
TEST(WindowPlatform, AWindowLargerThanTheLargestTextureIsDrawnAsFarAsThatGoes) {
  if (!has_display()) GTEST_SKIP() << "no X server";
  // A server without clients begins anew, and takes its time after so large a window.
  const std::unique_ptr<Display, decltype(&XCloseDisplay)> other_client(XOpenDisplay(nullptr),
                                                                        &XCloseDisplay);
  const auto platform = make_window_platform("shardlens test", PixelSize{640, 360}, VerticalSync::off);
  GLint largest = 0;
  glGetIntegerv(GL_MAX_TEXTURE_SIZE, &largest);
  if (largest > 30'000) GTEST_SKIP() << "no window of this X server is larger";
  platform->resize({largest + 200, 100});
  for (int i = 0; i < 4; ++i) {
    platform->begin_frame(0.1);
    ImGui::GetForegroundDrawList()->AddRectFilled({0, 0}, {20, 20}, IM_COL32(90, 169, 255, 255));
    platform->render();
    platform->present();
  }
  EXPECT_EQ(platform->framebuffer_size().width, largest);
  EXPECT_EQ(ImGui::GetIO().DisplaySize.x, static_cast<float>(largest)) << "everything is in the picture";
  platform->resize({640, 360});
  platform->begin_frame(0.1);
  platform->render();
  EXPECT_EQ(platform->framebuffer_size(), (PixelSize{640, 360}));
}

// No X server of a test sends files: the platform's own callback is given them as GLFW would.
TEST(WindowPlatform, FilesDroppedOnItAreTakenOnce) {
  if (!has_display()) GTEST_SKIP() << "no X server";
  const auto platform = make_window_platform("shardlens test", PixelSize{640, 360}, VerticalSync::off);
  GLFWwindow* window = glfwGetCurrentContext();
  ASSERT_NE(window, nullptr);
  const GLFWdropfun dropped = glfwSetDropCallback(window, nullptr);
  ASSERT_NE(dropped, nullptr) << "nobody listens to what is dropped";
  const char* first[] = {"/tmp/one.shardlens", "/tmp/two.shardlens"};
  const char* second[] = {"/tmp/three.shardlens"};
  dropped(window, 2, first);
  dropped(window, 1, second);
  EXPECT_EQ(platform->take_dropped_files(),
            (std::vector<std::string>{"/tmp/one.shardlens", "/tmp/two.shardlens", "/tmp/three.shardlens"}));
  EXPECT_TRUE(platform->take_dropped_files().empty());
}

// Another program may destroy a window, by accident or with xkill's cousins. Every request is refused then.
TEST(WindowPlatform, AWindowThatAnotherProgramDestroysIsGone) {
  const XServer server;
  if (!server.is_there()) GTEST_SKIP() << "no Xvfb";
  const auto platform = make_window_platform("shardlens test", PixelSize{320, 200}, VerticalSync::off);
  const auto draw = [&] {
    platform->begin_frame();
    ImGui::GetForegroundDrawList()->AddRectFilled({0, 0}, {320, 200}, IM_COL32(255, 0, 0, 255));
    platform->render();
    platform->present();
  };
  draw();
  EXPECT_FALSE(platform->is_gone());
  {
    const std::unique_ptr<Display, decltype(&XCloseDisplay)> other(XOpenDisplay(nullptr), &XCloseDisplay);
    XDestroyWindow(other.get(), glfwGetX11Window(glfwGetCurrentContext()));
    XSync(other.get(), False);
  }
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  for (int frame = 0; frame < 20; ++frame) draw();
  const std::string said =
      ::testing::internal::GetCapturedStderr() + ::testing::internal::GetCapturedStdout();
  EXPECT_TRUE(platform->is_gone());
  EXPECT_LT(std::count(said.begin(), said.end(), '\n'), 10) << said;
}

TEST(WindowPlatform, WithoutADisplayItSaysWhatWouldWork) {
  const char* display = std::getenv("DISPLAY");
  const std::string saved = display != nullptr ? display : "";
  unsetenv("DISPLAY");
  try {
    make_window_platform("shardlens test", PixelSize{640, 360});
    FAIL() << "a window opened without a display";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request);
    EXPECT_NE(std::string(error.what()).find("--screenshot"), std::string::npos) << error.what();
  }
  if (!saved.empty()) setenv("DISPLAY", saved.c_str(), 1);
}

}  // namespace window_platform_test
}  // namespace shardlens
