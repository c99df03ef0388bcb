// The scale of the screen, read from the server's resources.
#include "ui/platform/x_display.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "ui/platform/platform.h"

// After the tests' headers, whose names are macros here.
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#define GLFW_EXPOSE_NATIVE_X11
#include <GLFW/glfw3native.h>

#include <X11/Xatom.h>

namespace shardlens {
namespace x_display_test {

TEST(ScreenScale, IsReadFromTheResources) {
  EXPECT_EQ(scale_of_resources("Xft.dpi:\t192\n"), 2);
  EXPECT_EQ(scale_of_resources("Xcursor.size:\t48\nXft.dpi:   120\nXft.rgba:\tnone\n"), 1.25f);
  EXPECT_EQ(scale_of_resources(""), 1);
  EXPECT_EQ(scale_of_resources("NotXft.dpi:\t192\n"), 1);
  EXPECT_EQ(scale_of_resources("Xft.dpi:\tlarge"), 1);
  EXPECT_EQ(scale_of_resources("Xft.dpi:\t-5"), 1);
  EXPECT_EQ(scale_of_resources("Xft.dpi:"), 1);
  EXPECT_EQ(scale_of_resources("Xft.dpi:\t100000"), 4) << "as large as can be of use";
}

/// A client of the server, as a desktop's settings are. While it lives, the server keeps what it is told.
class Desktop {
 public:
  ~Desktop() {
    XDeleteProperty(display_, DefaultRootWindow(display_), XA_RESOURCE_MANAGER);
    XCloseDisplay(display_);
  }
  void set_resources(const std::string& text) {
    XChangeProperty(display_, DefaultRootWindow(display_), XA_RESOURCE_MANAGER, XA_STRING, 8, PropModeReplace,
                    reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
    XSync(display_, False);
  }

 private:
  Display* const display_ = XOpenDisplay(nullptr);
};

// Real desktops write the property while the studio is open.
TEST(ScreenScale, IsFollowedWhileAWindowIsOpen) {
  if (!has_display()) GTEST_SKIP() << "no X server";
  Desktop desktop;
  desktop.set_resources("Xft.dpi:\t192\n");
  const auto platform = make_window_platform("shardlens test", PixelSize{640, 360}, VerticalSync::off);
  EXPECT_EQ(platform->dpi_scale(), 2);
  desktop.set_resources("Xft.dpi:\t144\n");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (platform->dpi_scale() != 1.5f && std::chrono::steady_clock::now() < end) {
    platform->begin_frame(0.1);
    platform->render();
    platform->present();
  }
  EXPECT_EQ(platform->dpi_scale(), 1.5f);
}

}  // namespace x_display_test
}  // namespace shardlens
