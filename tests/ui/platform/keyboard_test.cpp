// The keys of the commands on keyboards that are not American: digits by their place, signs by what they
// write.
#include "ui/platform/keyboard.h"

#include <gtest/gtest.h>
#include <imgui.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "tests/ui/platform/x_server.h"
#include "tests/ui/studio_harness.h"
#include "ui/platform/platform.h"
#include "ui/studio.h"

// After the tests' headers, whose names are macros here.
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#define GLFW_EXPOSE_NATIVE_X11
#include <GLFW/glfw3native.h>

namespace shardlens {
namespace keyboard_test {

TEST(Keyboard, ATableOfLayouts) {
  struct Case {
    const char* what;
    int place;
    const char* alone;
    char32_t written;
    bool shift;
    ImGuiKey key;
    bool told_shift;
  };
  const Case cases[] = {
      {"us 4", GLFW_KEY_4, "4", U'4', false, ImGuiKey_4, false},
      {"us $", GLFW_KEY_4, "4", U'$', true, ImGuiKey_4, true},
      {"us ?", GLFW_KEY_SLASH, "/", U'?', true, ImGuiKey_Slash, true},
      {"us +", GLFW_KEY_EQUAL, "=", U'+', true, ImGuiKey_Equal, true},
      {"us =", GLFW_KEY_EQUAL, "=", U'=', false, ImGuiKey_Equal, false},
      {"us <", GLFW_KEY_COMMA, ",", U'<', true, ImGuiKey_Comma, true},
      {"us R", GLFW_KEY_R, "r", U'R', true, ImGuiKey_R, true},
      {"us keypad +", GLFW_KEY_KP_ADD, "+", U'+', false, ImGuiKey_KeypadAdd, false},
      {"fr 4", GLFW_KEY_4, "'", U'\'', false, ImGuiKey_4, false},
      {"fr 6", GLFW_KEY_6, "-", U'-', false, ImGuiKey_6, false},
      {"fr 2", GLFW_KEY_2, "\u00E9", U'\u00E9', false, ImGuiKey_2, false},
      {"fr 2 with Shift", GLFW_KEY_2, "\u00E9", U'2', true, ImGuiKey_2, true},
      {"fr ?", GLFW_KEY_M, ",", U'?', true, ImGuiKey_Slash, true},
      {"fr ,", GLFW_KEY_M, ",", U',', false, ImGuiKey_Comma, false},
      {"fr .", GLFW_KEY_COMMA, ";", U'.', true, ImGuiKey_Period, false},
      {"fr a", GLFW_KEY_Q, "a", U'a', false, ImGuiKey_A, false},
      {"de ?", GLFW_KEY_MINUS, "\u00DF", U'?', true, ImGuiKey_Slash, true},
      {"de sharp s", GLFW_KEY_MINUS, "\u00DF", U'\u00DF', false, ImGuiKey_None, false},
      {"de +", GLFW_KEY_RIGHT_BRACKET, "+", U'+', false, ImGuiKey_Equal, true},
      {"de -", GLFW_KEY_SLASH, "-", U'-', false, ImGuiKey_Minus, false},
      {"de acute", GLFW_KEY_EQUAL, "", U'\uFFFD', false, ImGuiKey_None, false},
      {"de z", GLFW_KEY_Y, "z", U'z', false, ImGuiKey_Z, false},
      {"ru ?", GLFW_KEY_7, "7", U'?', true, ImGuiKey_Slash, true},
      {"ru r", GLFW_KEY_R, "\u043A", U'\uFFFD', false, ImGuiKey_R, false},
      {"a server that cannot tell", GLFW_KEY_MINUS, "\u00DF", 0, false, ImGuiKey_Minus, false}};
  for (const Case& one : cases) {
    const ToldKey told = told_key({one.place, one.alone, one.written, one.shift});
    EXPECT_EQ(told.key, one.key) << one.what;
    if (one.key != ImGuiKey_None) {
      EXPECT_EQ(told.shift, one.told_shift) << one.what;
    }
  }
}

/// The studio in a window, on a keyboard with a layout. Keys are pressed by their codes, as a keyboard does.
class Pressed : public ::testing::Test {
 protected:
  // Of every PC keyboard, whatever is printed on it. In brackets: what a US keyboard has there.
  static constexpr unsigned kShift = 50, kCtrl = 37, kFour = 13, kSix = 15, kAfterZero = 20 /* - */,
                            kRightBracket = 35 /* ] */, kM = 58, kSlash = 61;

  /// False: there is no X server, or no layout.
  bool open(const char* layout) {
    if (!server_.is_there() || !server_.set_layout(layout)) return false;
    platform_ = make_window_platform("shardlens test", PixelSize{1280, 720}, VerticalSync::off);
    studio_ = std::make_unique<ui::Studio>(ui::small_settings(), platform_->fonts());
    studio_->view().tab = ui::Tab::Stage;
    draw(6);
    return true;
  }
  void TearDown() override {
    studio_.reset();
    platform_.reset();
  }

  void draw(int frames) {
    for (int i = 0; i < frames; ++i) {
      platform_->begin_frame();
      studio_->frame();
      platform_->render();
      platform_->present();
    }
  }

  void send(int type, unsigned code) {
    Display* const display = glfwGetX11Display();
    const Window window = glfwGetX11Window(glfwGetCurrentContext());
    XEvent event{};
    event.xkey = {};
    event.type = type;
    event.xkey.display = display;
    event.xkey.window = window;
    event.xkey.root = DefaultRootWindow(display);
    event.xkey.keycode = code;
    event.xkey.state = state_;
    event.xkey.time = time_ += 10;
    event.xkey.same_screen = True;
    XSendEvent(display, window, False, type == KeyPress ? KeyPressMask : KeyReleaseMask, &event);
    XSync(display, False);
    if (code == kShift) state_ = type == KeyPress ? state_ | ShiftMask : state_ & ~unsigned{ShiftMask};
    if (code == kCtrl) state_ = type == KeyPress ? state_ | ControlMask : state_ & ~unsigned{ControlMask};
    draw(2);
  }
  /// Presses the last of them while the others are held.
  void press(const std::vector<unsigned>& codes) {
    for (const unsigned code : codes) send(KeyPress, code);
    for (auto code = codes.rbegin(); code != codes.rend(); ++code) send(KeyRelease, *code);
    draw(2);
  }

  int degree() { return studio_->view().wanted.settings(studio_->snapshot()).tp; }
  float scale() { return studio_->view().scale; }
  bool sheet() { return studio_->view().sheet_open; }

  XServer server_;
  std::unique_ptr<Platform> platform_;
  std::unique_ptr<ui::Studio> studio_;
  unsigned state_ = 0;
  Time time_ = 1000;
};

TEST_F(Pressed, French) {
  if (!open("fr")) GTEST_SKIP() << "no Xvfb, or no setxkbmap";
  press({kSix});
  EXPECT_EQ(degree(), 6);
  press({kFour});
  EXPECT_EQ(degree(), 4);
  press({kCtrl, kSix});
  EXPECT_EQ(studio_->view().tab, ui::Tab::Compare);
  EXPECT_EQ(scale(), 1) << "the 6 writes a minus, and is the 6";
  press({kShift, kM});
  EXPECT_TRUE(sheet()) << "?";
}

TEST_F(Pressed, German) {
  if (!open("de")) GTEST_SKIP() << "no Xvfb, or no setxkbmap";
  press({kShift, kAfterZero});
  EXPECT_TRUE(sheet()) << "?";
  press({kShift, kAfterZero});
  EXPECT_FALSE(sheet());
  press({kCtrl, kRightBracket});
  EXPECT_NEAR(scale(), 1.1f, 1e-3f) << "Ctrl and +";
  press({kCtrl, kAfterZero});
  EXPECT_NEAR(scale(), 1.1f, 1e-3f) << "where a US keyboard has the minus, there is none";
  press({kCtrl, kSlash});
  EXPECT_NEAR(scale(), 1, 1e-3f) << "Ctrl and -";
  press({kFour});
  EXPECT_EQ(degree(), 4);
}

TEST_F(Pressed, American) {
  if (!open("us")) GTEST_SKIP() << "no Xvfb, or no setxkbmap";
  press({kShift, kSlash});
  EXPECT_TRUE(sheet()) << "?";
  press({kShift, kSlash});
  EXPECT_FALSE(sheet());
  press({kCtrl, kShift, 21});
  EXPECT_NEAR(scale(), 1.1f, 1e-3f) << "Ctrl and +";
  press({kCtrl, 21});
  EXPECT_NEAR(scale(), 1.2f, 1e-3f) << "Ctrl and =";
  press({kCtrl, kAfterZero});
  EXPECT_NEAR(scale(), 1.1f, 1e-3f) << "Ctrl and -";
  press({kSix});
  EXPECT_EQ(degree(), 6);
}

}  // namespace keyboard_test
}  // namespace shardlens
