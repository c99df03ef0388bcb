// What pictures, figures and videos have in common: a studio without a display that has done what its view
// shows. For the files of this folder alone.
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
inline constexpr double kTimeoutSeconds = 300;  ///< of anything that is waited for
inline constexpr int kSettlingFrames = 8;

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

/// Nothing runs, is planned or is compared.
bool is_at_rest(const Snapshot& snapshot);
void draw_frame(Platform& platform, ui::Studio& studio);
/// Draws until the engine has nothing left to do; throws a run Error when that never happens or the run
/// failed.
void wait_for_rest(Platform& platform, ui::Studio& studio);

/// A studio on a picture of `size`, that shows what the options ask for: a run that has ended and whatever
/// the view needs beyond it, or a moment of a recording. Throws a request Error where that is not possible.
class OffscreenStudio {
 public:
  OffscreenStudio(const Options& options, PixelSize size);

  Platform& platform() { return *platform_; }
  ui::Studio& studio() { return studio_; }
  bool replays() const { return replays_; }

  void draw_frame();
  /// Shows another view of the same run.
  void prepare_view(const std::string& view, const Options& options);
  /// Seeks the recording to a moment, in seconds from its beginning, and selects the step that stands there.
  void show_moment(double seconds);
  /// Draws until the panels have found their place and have what they asked for.
  void settle();
  /// The frame after that.
  Image settled_picture();

 private:
  const bool replays_;
  std::unique_ptr<Platform> platform_;
  ui::Studio studio_;
  ShortRecording made_;
};

}  // namespace shardlens
