// A text of another program is pasted, small or large. A program that does not answer is not waited for.
#include "ui/platform/x_clipboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imgui.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <memory>
#include <string>

#include "tests/ui/platform/x_server.h"
#include "ui/platform/platform.h"

// After the tests' headers, whose names are macros here.
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#define GLFW_EXPOSE_NATIVE_X11
#include <GLFW/glfw3native.h>

namespace shardlens {
namespace x_clipboard_test {

using ::testing::HasSubstr;

/// Another program: it owns a selection, and sends `text`, in parts of `part` bytes if it is longer.
class Neighbour {
 public:
  Neighbour(const char* selection, const std::string& text, size_t part) {
    int ends[2];
    if (pipe(ends) != 0) return;
    process_ = fork();
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      serve(selection, text, part, ends[1]);
      _exit(0);
    }
    close(ends[1]);
    char ready = 0;
    is_ready_ = read(ends[0], &ready, 1) == 1;
    close(ends[0]);
  }
  ~Neighbour() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

  bool is_ready() const { return is_ready_; }
  void stop() const {
    kill(process_, SIGSTOP);
    waitpid(process_, nullptr, WUNTRACED);
  }

 private:
  static void serve(const char* selection, const std::string& text, size_t part, int ready) {
    Display* const display = XOpenDisplay(nullptr);
    if (display == nullptr) return;
    const Window window = XCreateSimpleWindow(display, DefaultRootWindow(display), 0, 0, 1, 1, 0, 0, 0);
    XSetSelectionOwner(display, XInternAtom(display, selection, False), window, CurrentTime);
    XSync(display, False);
    [[maybe_unused]] const ssize_t told = write(ready, "r", 1);
    const Atom utf8 = XInternAtom(display, "UTF8_STRING", False);
    size_t sent = 0;
    XSelectionRequestEvent asked{};
    const auto send_part = [&] {
      const size_t bytes = std::min(part, text.size() - sent);
      XChangeProperty(display, asked.requestor, asked.property, utf8, 8, PropModeReplace,
                      reinterpret_cast<const unsigned char*>(text.data() + sent), static_cast<int>(bytes));
      sent += bytes;
      if (bytes == 0) sent = text.size() + 1;  // it has ended
      XFlush(display);
    };
    for (XEvent event;;) {
      XNextEvent(display, &event);
      if (event.type == PropertyNotify && event.xproperty.state == PropertyDelete && sent <= text.size() &&
          event.xproperty.atom == asked.property)
        send_part();
      if (event.type != SelectionRequest) continue;
      asked = event.xselectionrequest;
      XEvent answer{};
      answer.type = SelectionNotify;
      answer.xselection.requestor = asked.requestor;
      answer.xselection.selection = asked.selection;
      answer.xselection.target = asked.target;
      answer.xselection.property = asked.target == utf8 ? asked.property : None;
      if (asked.target == utf8 && text.size() <= part) {
        sent = text.size() + 1;
        XChangeProperty(display, asked.requestor, asked.property, utf8, 8, PropModeReplace,
                        reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
      } else if (asked.target == utf8) {
        sent = 0;
        XSelectInput(display, asked.requestor, PropertyChangeMask);
        const long bytes = static_cast<long>(text.size());
        XChangeProperty(display, asked.requestor, asked.property, XInternAtom(display, "INCR", False), 32,
                        PropModeReplace, reinterpret_cast<const unsigned char*>(&bytes), 1);
      }
      XSendEvent(display, asked.requestor, False, 0, &answer);
      XFlush(display);
    }
  }

  pid_t process_ = 0;
  bool is_ready_ = false;
};

std::unique_ptr<Platform> open_window() {
  return make_window_platform("shardlens test", PixelSize{320, 200}, VerticalSync::off);
}

TEST(XClipboard, ATextOfAnotherProgramIsPasted) {
  const XServer server;
  if (!server.is_there()) GTEST_SKIP() << "no Xvfb";
  std::string large(300'000, 'a');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>('a' + i % 26);
  for (const std::string& text : {std::string("caf\u00E9"), std::string(), large}) {
    const Neighbour neighbour("CLIPBOARD", text, 65'536);
    ASSERT_TRUE(neighbour.is_ready());
    const auto platform = open_window();
    const char* const pasted = ImGui::GetClipboardText();
    ASSERT_NE(pasted, nullptr);
    EXPECT_TRUE(text == pasted) << "of " << text.size() << " bytes";
    EXPECT_EQ(platform->take_said(), "");
  }
}

TEST(XClipboard, TheStudiosOwnTextIsPastedWithoutAskingAnybody) {
  const XServer server;
  if (!server.is_there()) GTEST_SKIP() << "no Xvfb";
  const auto platform = open_window();
  EXPECT_STREQ(ImGui::GetClipboardText(), "") << "nobody has a text";
  ImGui::SetClipboardText("a table");
  EXPECT_STREQ(ImGui::GetClipboardText(), "a table");
}

// This test does not end if the program waits for the stopped one.
TEST(XClipboard, AStoppedProgramIsNotWaitedForForEver) {
  const XServer server;
  if (!server.is_there()) GTEST_SKIP() << "no Xvfb";
  const Neighbour neighbour("CLIPBOARD", "never sent", 65'536);
  ASSERT_TRUE(neighbour.is_ready());
  const auto platform = open_window();
  neighbour.stop();
  EXPECT_EQ(ImGui::GetClipboardText(), nullptr);
  EXPECT_THAT(platform->take_said(), HasSubstr("has not answered for 1 s"));
  EXPECT_EQ(ImGui::GetClipboardText(), nullptr);
  EXPECT_THAT(platform->take_said(), HasSubstr("does not answer")) << "a held key asks no more";
  ImGui::SetClipboardText("own");
  EXPECT_STREQ(ImGui::GetClipboardText(), "own");
}

// At its end a program hands what was copied to the clipboard's manager, if there is one.
TEST(XClipboard, AStoppedManagerIsNotWaitedForForEver) {
  const XServer server;
  if (!server.is_there()) GTEST_SKIP() << "no Xvfb";
  const Neighbour manager("CLIPBOARD_MANAGER", "", 65'536);
  ASSERT_TRUE(manager.is_ready());
  auto platform = open_window();
  ImGui::SetClipboardText("a table");
  manager.stop();
  platform.reset();
}

}  // namespace x_clipboard_test
}  // namespace shardlens
