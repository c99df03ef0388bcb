// What a second window is drawn with: a GuiContext and a kept picture. Whatever it does, the GuiContext of
// the first window is the current one again afterwards. Needs a current OpenGL context.
#pragma once

#include <functional>
#include <optional>

#include "ui/platform/gui_context.h"
#include "ui/platform/kept_picture.h"

namespace shardlens {

class OwnGui {
 public:
  OwnGui(GlLoader load, KeptPicture::Bytes bytes);
  ~OwnGui();
  OwnGui(const OwnGui&) = delete;
  OwnGui& operator=(const OwnGui&) = delete;

  // Calls `setup` with this context current, for a backend that takes input.
  void with_current(const std::function<void()>& setup) const;

  // Draws a frame of `size` pixels: `begin` gives the frame its input and size, `content` makes it. What
  // records the words of the first window's frame (io.UserData) records this one's too. Returns the number of
  // drawn pixels. If `content` throws, the frame is abandoned.
  int64_t draw(PixelSize size, const std::function<void()>& begin,
               const std::function<void(const ui::Fonts&)>& content);

  const KeptPicture& picture() const { return *picture_; }
  Image read_pixels() const;

 private:
  std::optional<GuiContext> gui_;
  std::optional<KeptPicture> picture_;
};

}  // namespace shardlens
