// The interface that everything is drawn through. Behind it is a window (GLFW), or no display at all (a
// surfaceless EGL context that draws into a framebuffer object). Both have the same OpenGL, the same Dear
// ImGui with docking, and the same fonts, so the code that draws the window also makes screenshots.
//
//   auto platform = make_offscreen_platform({1920, 1080});
//   while (!platform->should_close()) {
//     platform->begin_frame();
//     ...                     // any ImGui:: and ImPlot:: calls
//     platform->render();     // draws; read_pixels() gives the picture from here on
//     platform->present();    // shows it
//   }
//
// One platform at a time, used on the thread that made it; only wake() may be called from any thread. It may
// open a second window (second_window.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ui/platform/fonts.h"
#include "ui/platform/image.h"
#include "ui/platform/second_window.h"
#include "ui/theme/colour_scale.h"

namespace shardlens {

class Platform {
 public:
  virtual ~Platform() = default;

  // Takes input and begins a Dear ImGui frame. A window sleeps up to `wait_seconds` for something to happen,
  // so that an idle studio leaves the cores to the ranks; without a display it never waits and time advances
  // by 1/60 s.
  virtual void begin_frame(double wait_seconds = 0.0) = 0;

  // Ends the frame and draws it over the style's WindowBg colour. Draws only what has changed since the last
  // frame.
  virtual void render() = 0;

  // Ends a frame in which something was thrown, wherever that was. Nothing is drawn; the last picture stays.
  void abandon_frame();

  // Shows the picture if anything was drawn. Returns when the drawing is done.
  virtual void present() = 0;

  // Draws the next frame whole, even if little has changed.
  virtual void draw_whole() = 0;

  // The number of pixels that the last render() drew.
  virtual int64_t drawn_pixels() const = 0;

  // Returns the picture drawn by render(). Call it before present().
  virtual Image read_pixels() = 0;

  // Ends a wait in begin_frame. Any thread.
  virtual void wake() = 0;

  virtual void resize(PixelSize size) = 0;
  // A window takes all of its screen, or its place before. One whose size was given when it was made keeps it.
  virtual void set_full_screen(bool on) { (void)on; }
  virtual PixelSize framebuffer_size() const = 0;

  // How much larger than 96 dpi the display is now; 1 on an ordinary one and without a display.
  virtual float dpi_scale() const = 0;

  virtual bool should_close() const = 0;
  // Withdraws a person's wish to close the window.
  virtual void keep_open() {}

  // True once another program has destroyed the window. Nothing can be shown any more.
  virtual bool is_gone() const { return false; }

  // Returns what a person should know about the last frame's input, in a sentence, once; empty if nothing.
  virtual std::string take_said() { return {}; }

  // Calls `end` when the display goes away, on this thread, from inside any call that needs the display. It
  // must end the program itself: nothing of the window can be used any more, not even to destroy it.
  virtual void at_lost_display(std::function<void()> end) { (void)end; }

  // The number of screens. Without a display it is 1.
  virtual int screens() const { return 1; }

  // Opens a second window: all of another screen if there is one, else a window of `size` pixels. It must end
  // before this platform. Key presses in it reach the first window. Call it between two frames. Throws Error
  // if it cannot be opened.
  virtual std::unique_ptr<SecondWindow> open_second_window(const std::string& title, PixelSize size) = 0;

  // Returns the files that were dropped on the window since the last call.
  virtual std::vector<std::string> take_dropped_files() { return {}; }

  // The name of the renderer, for provenance: "OpenGL 4.5, llvmpipe (...)".
  virtual std::string renderer() const = 0;

  virtual const ui::Fonts& fonts() const = 0;
};

enum class VerticalSync { on, off };

// Opens a window of `size` pixels; if none is given, of 1600 × 960 or what fits on the screen. Throws Error
// if there is no display or no OpenGL 3.3.
std::unique_ptr<Platform> make_window_platform(const std::string& title, std::optional<PixelSize> size,
                                               VerticalSync vertical_sync = VerticalSync::on);

// Which frames are drawn where there is no display: a picture that nobody reads need not be drawn, and a
// software renderer takes most of a frame's time for it.
enum class Rasterize { every_frame, when_read };

// Draws without a display. `colours_by`: who makes the colours of heatmaps, if not as usual. With
// Rasterize::when_read only read_pixels() draws, and drawn_pixels() is of the last drawn frame. Throws Error
// if there is no EGL or no OpenGL 3.3.
std::unique_ptr<Platform> make_offscreen_platform(PixelSize size,
                                                  std::optional<ui::ColoursBy> colours_by = {},
                                                  Rasterize rasterize = Rasterize::every_frame);

// True if the environment names an X server, so that a window can probably open.
bool has_display();

}  // namespace shardlens
