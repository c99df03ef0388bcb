// What both platforms share once an OpenGL context is current: the functions of OpenGL, the Dear ImGui and
// ImPlot contexts, and Dear ImGui's renderer.
#pragma once

#include <string>
#include <vector>

#include "ui/platform/changes.h"
#include "ui/platform/fonts.h"
#include "ui/platform/gl.h"
#include "ui/platform/image.h"
#include "ui/platform/opaque.h"

namespace shardlens {

class GuiContext {
 public:
  // `load` finds an OpenGL function by name in the current context. Throws Error below OpenGL 3.3.
  explicit GuiContext(GLADloadfunc load);
  ~GuiContext();
  GuiContext(const GuiContext&) = delete;
  GuiContext& operator=(const GuiContext&) = delete;

  void begin_frame();
  // Ends the frame and draws it into the bound framebuffer, which is `size` large and holds the frame before:
  // only what is another one in this frame is drawn. Returns how many pixels that were.
  int64_t render(PixelSize size);
  // The framebuffer does not hold the frame before: the next frame is drawn whole.
  void forget_picture() { changes_.forget(); }
  // Reads the bound framebuffer.
  Image read_pixels(PixelSize size) const;

  std::string renderer() const;
  const ui::Fonts& fonts() const { return fonts_; }

 private:
  ui::Fonts fonts_;
  Changes changes_;
  std::vector<OpaqueRectangle> cleared_;
};

}  // namespace shardlens
