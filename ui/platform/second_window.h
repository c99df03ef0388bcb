// A second window of the program, drawn between the frames of the first: what one person sees and the others
// do not. It has a Dear ImGui context and fonts of its own, so that one window's mouse, focus and sizes are
// nothing to the other's.
#pragma once

#include <functional>

#include "ui/platform/fonts.h"
#include "ui/platform/image.h"

namespace shardlens {

class SecondWindow {
 public:
  virtual ~SecondWindow() = default;

  // Draws a frame. `content` makes it of any ImGui:: calls, with this window's fonts. Draws only what has
  // changed. If `content` throws, the last picture stays.
  virtual void draw(const std::function<void(const ui::Fonts&)>& content) = 0;

  // True once a person has closed it.
  virtual bool should_close() const = 0;

  // Returns the picture that was drawn last.
  virtual Image read_pixels() = 0;
};

}  // namespace shardlens
