// The platform with a window: GLFW on X11, OpenGL 3.3 core. A window may be larger than the largest texture;
// then the picture fills its upper left corner.
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_impl_glfw.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "ui/platform/gui_context.h"
#include "ui/platform/kept_picture.h"
#include "ui/platform/keyboard.h"
#include "ui/platform/own_gui.h"
#include "ui/platform/platform.h"
#include "ui/platform/x_clipboard.h"
#include "ui/platform/x_display.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#define GLFW_EXPOSE_NATIVE_X11
#include <GLFW/glfw3native.h>

namespace shardlens {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kScreenTime{16};  // time of a frame on a 60 Hz screen
constexpr std::chrono::seconds kScaleTime{1};         // between two questions for the screen's scale

// GLFW is a process-wide service; last_error() returns the reason of the last failed call.
class GlfwLibrary {
 public:
  GlfwLibrary() {
    if (glfwInit() == GLFW_FALSE) {
      throw request_error(
          fmt::format("cannot open a window ({}); start the studio where DISPLAY names an X server, or use "
                      "--screenshot, which needs none",
                      last_error()));
    }
  }
  ~GlfwLibrary() { glfwTerminate(); }
  GlfwLibrary(const GlfwLibrary&) = delete;
  GlfwLibrary& operator=(const GlfwLibrary&) = delete;

  static std::string last_error() {
    const char* message = nullptr;
    glfwGetError(&message);
    return message != nullptr ? message : "no reason given";
  }
};

constexpr PixelSize kFirstSize{1600, 960};
constexpr PixelSize kLeastSize{640, 400};  // smaller only if asked for

PixelSize smaller_of(PixelSize a, PixelSize b) {
  return {std::min(a.width, b.width), std::min(a.height, b.height)};
}

PixelSize scaled(PixelSize size, float scale) {
  return {static_cast<int>(static_cast<float>(size.width) * scale),
          static_cast<int>(static_cast<float>(size.height) * scale)};
}

/// Returns the size of a window for which no size was given, so that all of it is on the screen.
PixelSize first_size(float scale) {
  PixelSize room;
  if (GLFWmonitor* screen = glfwGetPrimaryMonitor())
    glfwGetMonitorWorkarea(screen, nullptr, nullptr, &room.width, &room.height);
  const PixelSize size = scaled(kFirstSize, scale);
  return room.width <= 0 || room.height <= 0 ? size : smaller_of(room, size);  // GLFW may not know the room
}

/// The screen that has the middle of the window; null: none has it.
GLFWmonitor* screen_of(GLFWwindow* window, std::span<GLFWmonitor* const> screens) {
  int left = 0, top = 0, width = 0, height = 0;
  glfwGetWindowPos(window, &left, &top);
  glfwGetWindowSize(window, &width, &height);
  for (GLFWmonitor* const screen : screens) {
    const GLFWvidmode* const mode = glfwGetVideoMode(screen);
    int x = 0, y = 0;
    glfwGetMonitorPos(screen, &x, &y);
    const int across = left + width / 2 - x, down = top + height / 2 - y;
    if (mode != nullptr && across >= 0 && across < mode->width && down >= 0 && down < mode->height)
      return screen;
  }
  return nullptr;
}

std::span<GLFWmonitor* const> all_screens() {
  int count = 0;
  GLFWmonitor** const screens = glfwGetMonitors(&count);
  return {screens, static_cast<size_t>(count)};
}

// The second window has an OpenGL context of its own. Outside its functions the first window's is current.
class SecondGlfwWindow final : public SecondWindow {
 public:
  SecondGlfwWindow(GLFWwindow* first, const std::string& title, PixelSize size)
      : first_(first), window_(make(title, size), glfwDestroyWindow) {
    if (!window_) throw run_error("cannot open a second window: " + GlfwLibrary::last_error());
    glfwSetWindowSizeLimits(window(), kLeastSize.width / 2, kLeastSize.height / 2, GLFW_DONT_CARE,
                            GLFW_DONT_CARE);
    place(size);
    const Current here(*this);
    glfwSwapInterval(0);  // the first window waits for the screen
    gui_.emplace(&glfwGetProcAddress, KeptPicture::Bytes::OfWindows);
    gui_->with_current([this] { ImGui_ImplGlfw_InitForOpenGL(window(), true); });
    glfwSetWindowUserPointer(window(), this);
    glfwSetKeyCallback(window(), [](GLFWwindow* window, int key, int code, int action, int) {
      tell_key(window, key, code, action);  // the first window's context is the current one
    });
    glfwSetWindowRefreshCallback(window(), [](GLFWwindow* window) {
      static_cast<SecondGlfwWindow*>(glfwGetWindowUserPointer(window))->shown_ = false;
    });
    glfwShowWindow(window());
  }

  ~SecondGlfwWindow() override {
    const Current here(*this);
    gui_->with_current(ImGui_ImplGlfw_Shutdown);
    gui_.reset();
  }

  void draw(const std::function<void(const ui::Fonts&)>& content) override {
    const Current here(*this);
    PixelSize size;
    glfwGetFramebufferSize(window(), &size.width, &size.height);
    if (gui_->draw(size, ImGui_ImplGlfw_NewFrame, content) > 0) shown_ = false;
    if (shown_ || size.width <= 0 || size.height <= 0) return;
    gui_->picture().copy_to_window(size);
    glfwSwapBuffers(window());
    shown_ = true;
  }

  bool should_close() const override {
    return glfwWindowShouldClose(window()) == GLFW_TRUE || shardlens::is_gone(glfwGetX11Window(window()));
  }

  Image read_pixels() override {
    const Current here(*this);
    return gui_->read_pixels();
  }

 private:
  class Current {
   public:
    explicit Current(const SecondGlfwWindow& second) : first_(second.first_) {
      glfwMakeContextCurrent(second.window());
    }
    ~Current() { glfwMakeContextCurrent(first_); }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    GLFWwindow* first_;
  };

  GLFWwindow* window() const { return window_.get(); }

  /// Not yet visible; it must not take the keys from the first window.
  static GLFWwindow* make(const std::string& title, PixelSize size) {
    glfwWindowHint(GLFW_VISIBLE, GLFW_FALSE);
    glfwWindowHint(GLFW_FOCUS_ON_SHOW, GLFW_FALSE);
    GLFWwindow* const made = glfwCreateWindow(size.width, size.height, title.c_str(), nullptr, nullptr);
    glfwWindowHint(GLFW_VISIBLE, GLFW_TRUE);
    glfwWindowHint(GLFW_FOCUS_ON_SHOW, GLFW_TRUE);
    return made;
  }

  /// All of another screen, if there is one; else in the middle of the first window.
  void place(PixelSize size) {
    const auto screens = all_screens();
    GLFWmonitor* const taken = screen_of(first_, screens);
    const auto other =
        std::find_if(screens.begin(), screens.end(), [&](GLFWmonitor* screen) { return screen != taken; });
    int left = 0, top = 0, width = 0, height = 0;
    if (taken != nullptr && other != screens.end()) {
      glfwGetMonitorWorkarea(*other, &left, &top, &width, &height);
      glfwSetWindowSize(window(), width, height);
    } else {
      glfwGetWindowPos(first_, &left, &top);
      glfwGetWindowSize(first_, &width, &height);
      left += std::max(0, (width - size.width) / 2);
      top += std::max(0, (height - size.height) / 2);
    }
    glfwSetWindowPos(window(), left, top);
  }

  GLFWwindow* const first_;
  const std::unique_ptr<GLFWwindow, decltype(&glfwDestroyWindow)> window_;
  std::optional<OwnGui> gui_;
  bool shown_ = false;  // the window shows the picture
};

class WindowPlatform final : public Platform {
 public:
  WindowPlatform(const std::string& title, std::optional<PixelSize> wanted, VerticalSync vertical_sync)
      : keeps_size_(wanted.has_value()), paced_(vertical_sync == VerticalSync::on) {
    // A click into the notes on another screen must not put the class's window away.
    glfwWindowHint(GLFW_AUTO_ICONIFY, GLFW_FALSE);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
    glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
    glfwWindowHint(GLFW_OPENGL_FORWARD_COMPAT, GLFW_TRUE);
    handle_x_errors({});
    scale_ = screen_scale(glfwGetX11Display());
    const PixelSize size = wanted.value_or(first_size(scale_));
    window_ = glfwCreateWindow(size.width, size.height, title.c_str(), nullptr, nullptr);
    if (window_ == nullptr) {
      throw run_error(fmt::format(
          "cannot open a window with OpenGL 3.3: {}; Mesa's software renderer can (apt-get install "
          "libgl1-mesa-dri, then set LIBGL_ALWAYS_SOFTWARE=1)",
          GlfwLibrary::last_error()));
    }
    const PixelSize least = smaller_of(size, scaled(kLeastSize, scale_));
    glfwSetWindowSizeLimits(window_, least.width, least.height, GLFW_DONT_CARE, GLFW_DONT_CARE);
    glfwMakeContextCurrent(window_);
    glfwSwapInterval(vertical_sync == VerticalSync::on ? 1 : 0);
    gui_.emplace(&glfwGetProcAddress);
    picture_.emplace(KeptPicture::Bytes::OfWindows);
    most_pixels_ = KeptPicture::most_pixels();
    ImGui_ImplGlfw_InitForOpenGL(window_, true);
    glfwSetWindowUserPointer(window_, this);
    glfwSetKeyCallback(window_, [](GLFWwindow* window, int key, int code, int action, int) {
      tell_key(window, key, code, action);
    });
    take_over_clipboard();
    glfwSetDropCallback(window_, [](GLFWwindow* window, int count, const char** paths) {
      auto& self = *static_cast<WindowPlatform*>(glfwGetWindowUserPointer(window));
      self.dropped_.insert(self.dropped_.end(), paths, paths + count);
    });
    glfwSetWindowRefreshCallback(window_, [](GLFWwindow* window) {
      static_cast<WindowPlatform*>(glfwGetWindowUserPointer(window))->shown_ = false;
    });
  }

  ~WindowPlatform() override {
    give_up_clipboard();
    if (gui_) ImGui_ImplGlfw_Shutdown();
    picture_.reset();
    gui_.reset();
    glfwDestroyWindow(window_);
  }

  void begin_frame(double wait_seconds) override {
    if (wait_seconds > 0.0) {
      glfwWaitEventsTimeout(wait_seconds);
    } else {
      glfwPollEvents();
    }
    frame_begin_ = Clock::now();
    if (frame_begin_ - scale_asked_ > kScaleTime) {
      scale_asked_ = frame_begin_;
      scale_ = screen_scale(glfwGetX11Display());
    }
    ImGui_ImplGlfw_NewFrame();
    ImVec2& room = ImGui::GetIO().DisplaySize;
    const auto most = static_cast<float>(most_pixels_);
    room = {std::min(room.x, most), std::min(room.y, most)};
    gui_->begin_frame();
  }

  void render() override {
    const PixelSize size = framebuffer_size();
    drawn_pixels_ = 0;
    gui_->end_frame();
    if (size.width == 0 || size.height == 0) return;  // iconified
    if (size != picture_->size()) {
      picture_->allocate(size);
      gui_->forget_picture();
    }
    picture_->bind();
    drawn_pixels_ = gui_->draw(size);
    shown_ = shown_ && drawn_pixels_ == 0;
  }

  // An unchanged picture is not shown again, because with a software renderer that copies all of it. Then it
  // waits as long as the screen would have made it wait. Otherwise a moving mouse would make one frame for
  // each event.
  void present() override {
    if (!shown_) {
      picture_->copy_to_window(window_size());
      glfwSwapBuffers(window_);
      shown_ = true;
    } else if (paced_) {
      std::this_thread::sleep_until(frame_begin_ + kScreenTime);
    }
  }

  Image read_pixels() override { return gui_->read_pixels(picture_->size()); }
  void draw_whole() override { gui_->forget_picture(); }
  int64_t drawn_pixels() const override { return drawn_pixels_; }
  void wake() override { glfwPostEmptyEvent(); }
  void resize(PixelSize size) override { glfwSetWindowSize(window_, size.width, size.height); }

  void set_full_screen(bool on) override {
    if (keeps_size_ || on == is_full_screen()) return;
    if (!on)
      return glfwSetWindowMonitor(window_, nullptr, before_.left, before_.top, before_.size.width,
                                  before_.size.height, GLFW_DONT_CARE);
    const auto screens = all_screens();
    GLFWmonitor* screen = screen_of(window_, screens);
    if (screen == nullptr) screen = glfwGetPrimaryMonitor();
    const GLFWvidmode* const mode = screen == nullptr ? nullptr : glfwGetVideoMode(screen);
    if (mode == nullptr) return;
    glfwGetWindowPos(window_, &before_.left, &before_.top);
    glfwGetWindowSize(window_, &before_.size.width, &before_.size.height);
    glfwSetWindowMonitor(window_, screen, 0, 0, mode->width, mode->height, mode->refreshRate);
  }

  PixelSize framebuffer_size() const override {
    return smaller_of(window_size(), {most_pixels_, most_pixels_});
  }
  float dpi_scale() const override { return scale_; }
  bool should_close() const override { return glfwWindowShouldClose(window_) == GLFW_TRUE; }
  void keep_open() override { glfwSetWindowShouldClose(window_, GLFW_FALSE); }
  void at_lost_display(std::function<void()> end) override { handle_x_errors(std::move(end)); }
  bool is_gone() const override { return shardlens::is_gone(glfwGetX11Window(window_)); }
  std::string take_said() override { return std::exchange(said_, {}); }
  int screens() const override { return static_cast<int>(all_screens().size()); }
  std::unique_ptr<SecondWindow> open_second_window(const std::string& title, PixelSize size) override {
    return std::make_unique<SecondGlfwWindow>(window_, title, scaled(size, scale_));
  }
  std::vector<std::string> take_dropped_files() override { return std::exchange(dropped_, {}); }
  std::string renderer() const override { return gui_->renderer(); }
  const ui::Fonts& fonts() const override { return gui_->fonts(); }

 private:
  PixelSize window_size() const {
    PixelSize size;
    glfwGetFramebufferSize(window_, &size.width, &size.height);
    return size;
  }

  // GLFW's own functions wait without end for the program that has the clipboard, and for its manager.
  void take_over_clipboard() {
    clipboard_.emplace(glfwGetX11Display());
    ImGuiPlatformIO& io = ImGui::GetPlatformIO();
    io.Platform_ClipboardUserData = this;
    io.Platform_SetClipboardTextFn = [](ImGuiContext*, const char* text) {
      auto& self = *static_cast<WindowPlatform*>(ImGui::GetPlatformIO().Platform_ClipboardUserData);
      glfwSetClipboardString(self.window_, text);
      self.own_clipboard_ = self.clipboard_->owner();
    };
    io.Platform_GetClipboardTextFn = [](ImGuiContext*) -> const char* {
      return static_cast<WindowPlatform*>(ImGui::GetPlatformIO().Platform_ClipboardUserData)
          ->clipboard_text();
    };
  }

  bool is_full_screen() const { return glfwGetWindowMonitor(window_) != nullptr; }
  bool owns_clipboard() const { return own_clipboard_ != 0 && clipboard_->owner() == own_clipboard_; }

  /// Null if nothing can be pasted.
  const char* clipboard_text() {
    if (owns_clipboard()) return glfwGetClipboardString(window_);
    try {
      pasted_ = clipboard_->text();
      return pasted_.c_str();
    } catch (const Error& error) {
      said_ =
          fmt::format("Nothing was pasted: {}. Copy the text again, or from another program.", error.what());
      return nullptr;
    }
  }

  void give_up_clipboard() {
    if (!clipboard_ || !owns_clipboard()) return;
    try {
      clipboard_->hand_over(&glfwWaitEventsTimeout);
    } catch (const Error& error) {
      spdlog::warn("what was copied is not kept: {}", error.what());
    }
  }

  GlfwLibrary library_;
  GLFWwindow* window_ = nullptr;
  std::optional<XClipboard> clipboard_;
  unsigned long own_clipboard_ = 0;  // this program's owner of the clipboard, after a text was copied
  std::string pasted_, said_;
  int most_pixels_ = 0;  // of a picture, in each direction
  float scale_ = 1;
  Clock::time_point scale_asked_ = Clock::now();
  std::vector<std::string> dropped_;
  std::optional<GuiContext> gui_;
  std::optional<KeptPicture> picture_;
  int64_t drawn_pixels_ = 0;
  bool shown_ = false;  // the window shows the picture
  struct Place {
    int left = 0, top = 0;
    PixelSize size;
  } before_;         // it took the whole screen
  bool keeps_size_;  // its size was given
  bool paced_;       // frames come at the screen's rate
  Clock::time_point frame_begin_ = Clock::now();
};

}  // namespace

std::unique_ptr<Platform> make_window_platform(const std::string& title, std::optional<PixelSize> size,
                                               VerticalSync vertical_sync) {
  return std::make_unique<WindowPlatform>(title, size, vertical_sync);
}

bool has_display() {
  const char* display = std::getenv("DISPLAY");
  return display != nullptr && *display != '\0';
}

}  // namespace shardlens
