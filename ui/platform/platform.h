// The frame that everything is drawn through, and the only place that knows what is behind it: a window
// (GLFW), or no display at all (a surfaceless EGL context that draws into a framebuffer object). Both give
// the same OpenGL, the same Dear ImGui with docking, and the same fonts, so a screenshot comes from the code
// that draws the window.
//
//   auto platform = make_offscreen_platform({1920, 1080});
//   while (!platform->should_close()) {
//     platform->begin_frame();
//     ...                     // any ImGui:: and ImPlot:: calls
//     platform->render();     // draws; read_pixels() gives the picture from here on
//     platform->present();    // shows it
//   }
//
// One platform at a time, used on the thread that made it; only wake() may be called from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ui/platform/fonts.h"
#include "ui/platform/image.h"

namespace shardlens {

class Platform {
 public:
  virtual ~Platform() = default;

  // Takes input and begins a Dear ImGui frame. A window sleeps up to `wait_seconds` for something to happen,
  // so that an idle studio leaves the cores to the ranks; without a display it never waits and time advances
  // by 1/60 s.
  virtual void begin_frame(double wait_seconds = 0.0) = 0;

  // Ends the frame and draws it over a ground of the style's WindowBg colour; of it, only what is not as it
  // was in the frame before.
  virtual void render() = 0;

  // Shows what was drawn, if anything was; returns when the drawing is done.
  virtual void present() = 0;

  // The next frame is drawn whole, whatever the last one was.
  virtual void draw_whole() = 0;

  // What render() drew last, in pixels.
  virtual int64_t drawn_pixels() const = 0;

  // The picture drawn by render(), to be called before present().
  virtual Image read_pixels() = 0;

  // Ends a wait in begin_frame. Any thread.
  virtual void wake() = 0;

  virtual void resize(PixelSize size) = 0;
  virtual PixelSize framebuffer_size() const = 0;

  // How much larger than 96 dpi the display is; 1 on an ordinary one and without a display.
  virtual float dpi_scale() const = 0;

  virtual bool should_close() const = 0;

  // The files that were dropped on the window since this was asked last.
  virtual std::vector<std::string> take_dropped_files() { return {}; }

  // What draws, for provenance: "OpenGL 4.5, llvmpipe (...)".
  virtual std::string renderer() const = 0;

  virtual const ui::Fonts& fonts() const = 0;
};

enum class VerticalSync { on, off };

// Opens a window of `size` pixels; without one, of 1600 × 960 or what the screen has room for. Throws Error
// when there is no display or no OpenGL 3.3.
std::unique_ptr<Platform> make_window_platform(const std::string& title, std::optional<PixelSize> size,
                                               VerticalSync vertical_sync = VerticalSync::on);

// Draws without a display. Throws Error when there is no EGL or no OpenGL 3.3.
std::unique_ptr<Platform> make_offscreen_platform(PixelSize size);

// Whether a window can be expected to open: an X server is named in the environment.
bool has_display();

}  // namespace shardlens
