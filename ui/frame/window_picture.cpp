// Waits, reads the pixels and writes them.
#include "ui/frame/window_picture.h"

#include <string>
#include <utility>

#include "ui/commands/commands.h"
#include "ui/platform/image.h"

namespace shardlens::ui {

constexpr int kPictureFrames = 3;  ///< until a cover, a list and a message have gone

void WindowPicture::write(Platform& platform, ViewState& view) {
  if (++frames_ < kPictureFrames) return;
  frames_ = 0;
  const std::string path = std::exchange(view.picture, {}).string();
  try {
    write_png(platform.read_pixels(), path);
    view.said = {"Written:", {path}};
  } catch (const std::exception& error) {
    view.said = failed_export(error);
  }
}

}  // namespace shardlens::ui
