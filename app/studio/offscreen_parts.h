// Shared by pictures, figures and videos: a studio without a display, brought into the state that a view
// shows. Only for the files of this folder.
#pragma once

#include <chrono>
#include <filesystem>

#include "app/studio/options.h"
#include "app/studio/short_recording.h"
#include "engine/runtime/snapshot.h"
#include "ui/platform/platform.h"
#include "ui/studio.h"

namespace shardlens {

inline constexpr PixelSize kDefaultSize{1920, 1080};
inline constexpr double kTimeoutSeconds = 300;  ///< for every wait
inline constexpr int kSettlingFrames = 8;

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

/// True if nothing runs, is planned or is compared.
bool is_at_rest(const Snapshot& snapshot);
/// Draws a frame. Throws a request Error with the reader's words if the open recording cannot be read: what a
/// picture waits for then never comes.
void draw_frame(Platform& platform, ui::Studio& studio);
/// Draws until the engine has nothing left to do. Throws a run Error if that takes too long or the run
/// failed.
void wait_for_rest(Platform& platform, ui::Studio& studio);

/// A studio that draws into a picture of `size` and shows what the options ask for: a finished run and
/// whatever else the view needs, or a moment of a recording. Throws a request Error if that is not possible.
class OffscreenStudio {
 public:
  OffscreenStudio(const Options& options, PixelSize size);

  Platform& platform() { return *platform_; }
  ui::Studio& studio() { return studio_; }
  bool replays() const { return replays_; }

  void draw_frame();
  /// Shows another view of the same run.
  void prepare_view(const std::string& view, const Options& options);
  /// Shows a scene of the open lesson, from 0, and waits until all of it is there. Throws a request Error if
  /// it cannot be shown.
  void show_scene(int scene);
  /// Draws until all of the scene, or of what an answer means, is there.
  void wait_for_lesson();
  /// Seeks the recording to a moment, in seconds from its beginning, and selects the step at that moment.
  void show_moment(double seconds);
  /// Draws until the panels have their final places and the data that they requested.
  void settle();
  /// Settles, and returns the picture of the next frame.
  Image settled_picture();

 private:
  const bool replays_;
  std::unique_ptr<Platform> platform_;
  ui::Studio studio_;
  ShortRecording made_;
};

}  // namespace shardlens
