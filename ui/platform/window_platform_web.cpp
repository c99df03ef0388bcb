// The platform of a browser's page: a canvas as large as the page, WebGL 2, Emscripten's GLFW for mouse and
// keys, and HTML5 events for what that does not know: touch, clipboard, dropped files, a screen's pixels.
#include <emscripten/emscripten.h>
#include <emscripten/html5.h>
#include <imgui.h>
#include <imgui_impl_glfw.h>
#include <imgui_internal.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "ui/platform/fingers.h"
#include "ui/platform/gui_context.h"
#include "ui/platform/kept_picture.h"
#include "ui/platform/page_input.h"
#include "ui/platform/platform.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

namespace shardlens {
namespace {

EM_JS(double, page_width, (), { return window.innerWidth; });
EM_JS(double, page_height, (), { return window.innerHeight; });
// Emscripten's GLFW takes a finger for a mouse with its button down.
EM_JS(void, keep_fingers_from_glfw, (), {
  const canvas = Module.canvas;
  canvas.removeEventListener('touchstart', GLFW.onMouseButtonDown, true);
  canvas.removeEventListener('touchmove', GLFW.onMousemove, true);
  canvas.removeEventListener('touchend', GLFW.onMouseButtonUp, true);
  canvas.removeEventListener('touchcancel', GLFW.onMouseButtonUp, true);
});
EM_JS(bool, is_apples, (),
      { return navigator.platform.startsWith('Mac') || navigator.platform.startsWith('iP'); });
EM_JS(void, show_keyboard, (bool shown), { Module.keyboard(shown); });
EM_JS(void, copy_in_page, (const char* text), { Module.copy(UTF8ToString(text)); });

/// What the page's events have brought since the last frame.
struct Brought {
  std::vector<std::string> files;
  std::string pasted;
  int deletions = 0;  ///< on the screen's keyboard
};
Brought brought;

PixelSize page_size() {
  const double ratio = emscripten_get_device_pixel_ratio();
  return {static_cast<int>(std::lround(page_width() * ratio)),
          static_cast<int>(std::lround(page_height() * ratio))};
}

/// Keys that a browser would use itself, and that the studio means: Ctrl+P, Ctrl+F, Tab, F1 to F11 but F5,
/// and so on. Ctrl+T, Ctrl+N, Ctrl+W and F5 stay the browser's.
bool is_the_studios(const EmscriptenKeyboardEvent& event) {
  const std::string code = event.code, key = event.key;
  if (code == "F5" || code == "F12") return false;
  if (code.size() >= 2 && code[0] == 'F' && code[1] >= '1' && code[1] <= '9') return true;
  if (code == "Tab" || code == "Space" || code == "Backspace" || code == "PageUp" || code == "PageDown" ||
      code.starts_with("Arrow"))
    return true;
  if (event.altKey)
    return code == "KeyT" || code == "KeyW" || code == "KeyR" || code == "KeyN";  // own_key_web.cpp
  if (!event.ctrlKey && !event.metaKey) return code == "Slash" || code == "Quote";
  static constexpr const char* kTheirs[] = {"KeyT", "KeyN", "KeyW", "KeyR", "KeyC", "KeyX", "KeyV", "KeyQ"};
  return std::none_of(std::begin(kTheirs), std::end(kTheirs), [&](const char* one) { return code == one; });
}

/// True if the key writes one character: it is named by it, and others by a word.
bool is_letter(const EmscriptenKeyboardEvent& event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const auto first = static_cast<unsigned char>(event.key[0]);
  return first >= 0x80 || (first != 0 && event.key[1] == 0);
}

class PagePlatform final : public Platform {
 public:
  PagePlatform() {
    if (glfwInit() == GLFW_FALSE) throw run_error("this browser gives the page no window");
    glfwWindowHint(GLFW_SAMPLES, 0);
    const PixelSize size = page_size();
    window_ = glfwCreateWindow(size.width, size.height, "Shardlens", nullptr, nullptr);
    if (window_ == nullptr)
      throw run_error(
          "this browser has no WebGL 2, with which the studio draws: switch it on, or take another "
          "browser");
    glfwMakeContextCurrent(window_);
    gui_.emplace(nullptr);
    picture_.emplace(KeptPicture::Bytes::OfWindows);
    ImGui_ImplGlfw_InitForOpenGL(window_, true);
    ImGui::GetIO().ConfigMacOSXBehaviors = is_apples();  // Cmd is what Ctrl is elsewhere
    ImGuiPlatformIO& io = ImGui::GetPlatformIO();
    io.Platform_SetClipboardTextFn = [](ImGuiContext*, const char* text) { copy_in_page(text); };
    // A browser says what is pasted when a person pastes, and not before.
    io.Platform_GetClipboardTextFn = [](ImGuiContext*) -> const char* { return nullptr; };
    const auto keys = [](int, const EmscriptenKeyboardEvent* event, void*) -> EM_BOOL {
      if (!is_the_studios(*event)) return EM_FALSE;
      // A browser tells no letter of a key that is kept from it: a space, a slash, an ä.
      if (is_letter(*event)) ImGui::GetIO().AddInputCharactersUTF8(event->key);
      return EM_TRUE;
    };
    emscripten_set_keydown_callback(EMSCRIPTEN_EVENT_TARGET_DOCUMENT, nullptr, EM_FALSE, keys);
    keep_fingers_from_glfw();
    emscripten_set_touchstart_callback("#canvas", this, EM_TRUE, take_touch);
    emscripten_set_touchmove_callback("#canvas", this, EM_TRUE, take_touch);
    emscripten_set_touchend_callback("#canvas", this, EM_TRUE, take_touch);
    emscripten_set_touchcancel_callback("#canvas", this, EM_TRUE, take_touch);
  }

  ~PagePlatform() override {
    if (gui_) ImGui_ImplGlfw_Shutdown();
    picture_.reset();
    gui_.reset();
  }

  void begin_frame(double) override {
    const PixelSize page = page_size();
    if (page != framebuffer_size() && page.width > 0 && page.height > 0) resize(page);
    glfwPollEvents();
    ImGui_ImplGlfw_NewFrame();
    const PixelSize size = framebuffer_size();
    ImGuiIO& io = ImGui::GetIO();
    io.DisplaySize = {static_cast<float>(size.width), static_cast<float>(size.height)};
    io.DisplayFramebufferScale = {1, 1};
    if (!brought.pasted.empty()) io.AddInputCharactersUTF8(std::exchange(brought.pasted, {}).c_str());
    for (; brought.deletions > 0; --brought.deletions) {
      io.AddKeyEvent(ImGuiKey_Backspace, true);
      io.AddKeyEvent(ImGuiKey_Backspace, false);
    }
    gui_->begin_frame();
    const bool types = io.WantTextInput && io.MouseSource == ImGuiMouseSource_TouchScreen;
    if (std::exchange(types_, types) != types) show_keyboard(types);
  }

  void render() override {
    const PixelSize size = framebuffer_size();
    drawn_pixels_ = 0;
    gui_->end_frame();
    if (size.width == 0 || size.height == 0) return;
    if (size != picture_->size()) {
      picture_->allocate(size);
      gui_->forget_picture();
    }
    picture_->bind();
    drawn_pixels_ = gui_->draw(size);
    shown_ = shown_ && drawn_pixels_ == 0;
  }

  // A browser keeps what the canvas shows while nothing is drawn into it.
  void present() override {
    if (std::exchange(shown_, true)) return;
    picture_->copy_to_window(framebuffer_size());
  }

  Image read_pixels() override { return gui_->read_pixels(picture_->size()); }
  void draw_whole() override { gui_->forget_picture(); }
  int64_t drawn_pixels() const override { return drawn_pixels_; }
  void wake() override {}
  void resize(PixelSize size) override {
    glfwSetWindowSize(window_, size.width, size.height);
    shown_ = false;
  }
  PixelSize framebuffer_size() const override {
    PixelSize size;
    glfwGetFramebufferSize(window_, &size.width, &size.height);
    return size;
  }
  float dpi_scale() const override { return static_cast<float>(emscripten_get_device_pixel_ratio()); }
  bool should_close() const override { return false; }
  std::unique_ptr<SecondWindow> open_second_window(const std::string&, PixelSize) override {
    throw request_error("a page has no second window: open the page a second time for the notes");
  }
  std::vector<std::string> take_dropped_files() override { return std::exchange(brought.files, {}); }
  std::string renderer() const override { return gui_->renderer(); }
  const ui::Fonts& fonts() const override { return gui_->fonts(); }

 private:
  static EM_BOOL take_touch(int kind, const EmscriptenTouchEvent* event, void* platform) {
    static_cast<PagePlatform*>(platform)->take_touch(kind, *event);
    return EM_TRUE;
  }
  /// Tells of the fingers that are on the canvas after an event, in pixels of the picture.
  void take_touch(int kind, const EmscriptenTouchEvent& event) {
    const double ratio = emscripten_get_device_pixel_ratio();
    std::vector<ImVec2> places;
    for (int i = 0; i < event.numTouches; ++i) {
      const EmscriptenTouchPoint& point = event.touches[i];
      const bool lifted =
          point.isChanged && (kind == EMSCRIPTEN_EVENT_TOUCHEND || kind == EMSCRIPTEN_EVENT_TOUCHCANCEL);
      if (!lifted)
        places.emplace_back(static_cast<float>(point.targetX * ratio),
                            static_cast<float>(point.targetY * ratio));
    }
    // Otherwise the backend says in every frame where a mouse would be that has never come.
    if (kind == EMSCRIPTEN_EVENT_TOUCHSTART) ImGui_ImplGlfw_CursorEnterCallback(window_, GLFW_TRUE);
    fingers_.take(places, event.timestamp / 1000, static_cast<float>(ratio));
  }

  GLFWwindow* window_ = nullptr;
  std::optional<GuiContext> gui_;
  std::optional<KeptPicture> picture_;
  Fingers fingers_;
  int64_t drawn_pixels_ = 0;
  bool shown_ = false;
  bool types_ = false;  ///< on the screen's keyboard
};

}  // namespace

std::unique_ptr<Platform> make_window_platform(const std::string&, std::optional<PixelSize>, VerticalSync) {
  return std::make_unique<PagePlatform>();
}

bool page_has_input() {
  const ImVec2 drawn = ImGui::GetIO().DisplaySize;
  const PixelSize page = page_size();
  return !ImGui::GetCurrentContext()->InputEventsQueue.empty() || !brought.files.empty() ||
         !brought.pasted.empty() || brought.deletions > 0 ||
         page != PixelSize{static_cast<int>(drawn.x), static_cast<int>(drawn.y)};
}

bool has_display() {
  return true;
}

}  // namespace shardlens

// The page calls these: a file that was dropped lies in its file system now; a person has pasted a text, or
// typed it on the screen's keyboard, or deleted a letter there.
extern "C" EMSCRIPTEN_KEEPALIVE void shardlens_dropped(const char* path) {
  shardlens::brought.files.emplace_back(path);
}
extern "C" EMSCRIPTEN_KEEPALIVE void shardlens_pasted(const char* text) {
  shardlens::brought.pasted += text;
}
extern "C" EMSCRIPTEN_KEEPALIVE void shardlens_deleted() {
  ++shardlens::brought.deletions;
}
