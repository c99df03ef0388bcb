// The platform without a display: an EGL context with no surface, on Mesa's surfaceless platform or on a GPU
// opened as a device, drawing into a framebuffer object.
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <fmt/format.h>
#include <imgui.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "ui/platform/gui_context.h"
#include "ui/platform/kept_picture.h"
#include "ui/platform/own_gui.h"
#include "ui/platform/platform.h"

namespace shardlens {

namespace {

Error no_egl(const std::string& reason) {
  return run_error(
      fmt::format("cannot draw without a display: {} (EGL error {:#x}); Mesa can do it in software: apt-get "
                  "install libegl-mesa0 libgl1-mesa-dri",
                  reason, static_cast<unsigned>(eglGetError())));
}

template <typename Function>
Function egl_function(const char* name) {
  return reinterpret_cast<Function>(eglGetProcAddress(name));
}

// Displays that need no window system, best first: Mesa's surfaceless one, then the GPUs.
std::vector<EGLDisplay> candidate_displays() {
  std::vector<EGLDisplay> displays;
  const auto platform_display = egl_function<PFNEGLGETPLATFORMDISPLAYEXTPROC>("eglGetPlatformDisplayEXT");
  if (platform_display == nullptr) return displays;
  displays.push_back(platform_display(EGL_PLATFORM_SURFACELESS_MESA, nullptr, nullptr));
  if (const auto query_devices = egl_function<PFNEGLQUERYDEVICESEXTPROC>("eglQueryDevicesEXT")) {
    std::array<EGLDeviceEXT, 16> devices{};
    EGLint count = 0;
    if (query_devices(static_cast<EGLint>(devices.size()), devices.data(), &count) == EGL_FALSE) count = 0;
    for (EGLint i = 0; i < count; ++i) {
      displays.push_back(
          platform_display(EGL_PLATFORM_DEVICE_EXT, devices[static_cast<std::size_t>(i)], nullptr));
    }
  }
  return displays;
}

// A current OpenGL 3.3 context without a surface.
class SurfacelessContext {
 public:
  SurfacelessContext() {
    for (const EGLDisplay candidate : candidate_displays()) {
      if (candidate == EGL_NO_DISPLAY || eglInitialize(candidate, nullptr, nullptr) == EGL_FALSE) continue;
      display_ = candidate;
      break;
    }
    if (display_ == EGL_NO_DISPLAY) throw no_egl("no EGL display can be opened");
    if (eglBindAPI(EGL_OPENGL_API) == EGL_FALSE) throw failed("EGL has no desktop OpenGL");
    constexpr std::array<EGLint, 5> wanted{EGL_SURFACE_TYPE, 0, EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT,
                                           EGL_NONE};
    EGLConfig config = nullptr;
    EGLint count = 0;
    if (eglChooseConfig(display_, wanted.data(), &config, 1, &count) == EGL_FALSE || count == 0) {
      throw failed("EGL has no OpenGL configuration");
    }
    constexpr std::array<EGLint, 7> version{EGL_CONTEXT_MAJOR_VERSION,
                                            3,
                                            EGL_CONTEXT_MINOR_VERSION,
                                            3,
                                            EGL_CONTEXT_OPENGL_PROFILE_MASK,
                                            EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
                                            EGL_NONE};
    context_ = eglCreateContext(display_, config, EGL_NO_CONTEXT, version.data());
    if (context_ == EGL_NO_CONTEXT) throw failed("EGL cannot make an OpenGL 3.3 context");
    if (eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, context_) == EGL_FALSE) {
      throw failed("the OpenGL context needs a surface");
    }
  }

  ~SurfacelessContext() { close(); }
  SurfacelessContext(const SurfacelessContext&) = delete;
  SurfacelessContext& operator=(const SurfacelessContext&) = delete;

 private:
  Error failed(const std::string& reason) {
    const Error error = no_egl(reason);
    close();  // the destructor does not run if the constructor throws
    return error;
  }

  void close() {
    eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    if (context_ != EGL_NO_CONTEXT) eglDestroyContext(display_, context_);
    eglTerminate(display_);
    eglReleaseThread();
  }

  EGLDisplay display_ = EGL_NO_DISPLAY;
  EGLContext context_ = EGL_NO_CONTEXT;
};

// The picture of a second window, in the same OpenGL context.
class SecondPicture final : public SecondWindow {
 public:
  explicit SecondPicture(PixelSize size) : size_(size) {}

  void draw(const std::function<void(const ui::Fonts&)>& content) override {
    gui_.draw(
        size_,
        [this] {
          ImGuiIO& io = ImGui::GetIO();
          io.DisplaySize = ImVec2(static_cast<float>(size_.width), static_cast<float>(size_.height));
          io.DeltaTime = 1.0F / 60.0F;
        },
        content);
  }
  bool should_close() const override { return false; }
  Image read_pixels() override { return gui_.read_pixels(); }

 private:
  const PixelSize size_;
  OwnGui gui_{&eglGetProcAddress, KeptPicture::Bytes::OfFiles};
};

class OffscreenPlatform final : public Platform {
 public:
  OffscreenPlatform(PixelSize size, std::optional<ui::ColoursBy> colours_by, Rasterize rasterize)
      : rasterize_(rasterize), gui_(&eglGetProcAddress, colours_by) {
    ImGui::GetIO().BackendPlatformName = "shardlens offscreen";
    picture_.allocate(size);
  }

  void begin_frame(double) override {
    if (is_due_) gui_.skip();
    is_due_ = false;
    ImGuiIO& io = ImGui::GetIO();
    const PixelSize size = picture_.size();
    io.DisplaySize = ImVec2(static_cast<float>(size.width), static_cast<float>(size.height));
    io.DeltaTime = 1.0F / 60.0F;
    gui_.begin_frame();
  }

  void render() override {
    gui_.end_frame();
    is_due_ = true;
    if (rasterize_ == Rasterize::every_frame) draw();
  }

  void present() override { glFinish(); }
  Image read_pixels() override {
    if (is_due_) draw();
    return gui_.read_pixels(picture_.size());
  }
  void wake() override {}

  void resize(PixelSize size) override {
    picture_.allocate(size);
    gui_.forget_picture();
  }

  PixelSize framebuffer_size() const override { return picture_.size(); }
  void draw_whole() override { gui_.forget_picture(); }
  int64_t drawn_pixels() const override { return drawn_pixels_; }
  float dpi_scale() const override { return 1.0F; }
  bool should_close() const override { return false; }
  std::unique_ptr<SecondWindow> open_second_window(const std::string&, PixelSize size) override {
    return std::make_unique<SecondPicture>(size);
  }
  std::string renderer() const override { return gui_.renderer(); }
  const ui::Fonts& fonts() const override { return gui_.fonts(); }

 private:
  void draw() {
    picture_.bind();
    drawn_pixels_ = gui_.draw(picture_.size());
    is_due_ = false;
  }

  const Rasterize rasterize_;
  bool is_due_ = false;  // the frame has ended and is not drawn
  SurfacelessContext context_;
  GuiContext gui_;
  KeptPicture picture_{KeptPicture::Bytes::OfFiles};
  int64_t drawn_pixels_ = 0;
};

}  // namespace

std::unique_ptr<Platform> make_offscreen_platform(PixelSize size, std::optional<ui::ColoursBy> colours_by,
                                                  Rasterize rasterize) {
  return std::make_unique<OffscreenPlatform>(size, colours_by, rasterize);
}

}  // namespace shardlens
