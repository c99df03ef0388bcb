// Shared by both platforms after an OpenGL context is current: the OpenGL functions, the Dear ImGui and
// ImPlot contexts, and Dear ImGui's renderer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ui/platform/changes.h"
#include "ui/platform/fonts.h"
#include "ui/platform/gl.h"
#include "ui/platform/image.h"
#include "ui/platform/opaque.h"
#include "ui/platform/value_shader.h"

struct ImGuiContext;
struct ImPlotContext;

namespace shardlens {

class GuiContext {
 public:
  // `load` finds an OpenGL function by name in the current context. `colours_by`: who makes the colours of
  // heatmaps; make_value_shader() decides if none is given. Its contexts are the current ones from here on.
  // Throws Error below OpenGL 3.3, and if the driver cannot link the program that draws.
  explicit GuiContext(GlLoader load, std::optional<ui::ColoursBy> colours_by = {});
  ~GuiContext();
  GuiContext(const GuiContext&) = delete;
  GuiContext& operator=(const GuiContext&) = delete;

  void begin_frame();
  // Ends the frame: what it shows can be drawn from here on, until the next one begins.
  void end_frame();
  // Draws the frame into the bound framebuffer, which has size `size` and holds the last frame. Draws only
  // what has changed. Returns the number of drawn pixels.
  int64_t draw(PixelSize size);
  // Instead of draw(): takes over the frame's new glyphs and no more.
  void skip();
  // Call it if the framebuffer no longer holds the last frame: the next frame is then drawn whole.
  void forget_picture() { changes_.forget(); }
  // Reads the bound framebuffer.
  Image read_pixels(PixelSize size) const;

  std::string renderer() const;
  const ui::Fonts& fonts() const { return fonts_; }

 private:
  friend class CurrentGui;
  void make_current() const;
  void end();

  ImGuiContext* gui_ = nullptr;
  ImPlotContext* plots_ = nullptr;
  ui::Fonts fonts_;
  Changes changes_;
  std::vector<OpaqueRectangle> cleared_;
  std::optional<ImDrawList> joined_;           // of a frame; as long as the context
  std::unique_ptr<ValueShader> value_shader_;  // null: the processor makes the colours of heatmaps
};

// A program with two windows has two GuiContexts. While this exists, the given one is current; then the one
// that was current before is again.
class CurrentGui {
 public:
  explicit CurrentGui(const GuiContext& gui);
  CurrentGui();  // none is given: only comes back to the current one at the end
  ~CurrentGui();
  CurrentGui(const CurrentGui&) = delete;
  CurrentGui& operator=(const CurrentGui&) = delete;

 private:
  ImGuiContext* gui_before_;
  ImPlotContext* plots_before_;
};

}  // namespace shardlens
