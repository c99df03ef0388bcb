// What the studio writes of itself: a figure of the layer, and the window as a picture.
#include <chrono>
#include <string>
#include <utility>

#include "ui/commands/commands.h"
#include "ui/platform/image.h"
#include "ui/studio.h"

namespace shardlens::ui {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPictureFrames = 3;  ///< until a cover, a list and a message have gone

}  // namespace

void Studio::write_figure(const FigureWish& wish, const std::filesystem::path& path) {
  ui::write_figure(context(), wish, path);
}

void Studio::write_picture(Platform& platform) {
  if (view_.picture.empty()) return;
  message_ = {};
  last_touch_ = Clock::now();
  if (++picture_frames_ < kPictureFrames) return;
  picture_frames_ = 0;
  const std::string path = std::exchange(view_.picture, {}).string();
  try {
    write_png(platform.read_pixels(), path);
    view_.said = {"Written:", {path}};
  } catch (const std::exception& error) {
    view_.said = failed_export(error);
  }
}

Figure Studio::draw_figure(const FigureWish& wish) {
  return ui::draw_figure(context(), wish);
}

}  // namespace shardlens::ui
