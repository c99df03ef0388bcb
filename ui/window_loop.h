// Runs the studio in a window, frame after frame, until a person closes it or the system ends it. Nothing
// that is thrown while a frame is drawn ends it: a training that runs for hours outlives a picture.
#pragma once

#include <atomic>
#include <string>

#include "ui/platform/platform.h"
#include "ui/studio.h"

namespace shardlens::ui {

class WindowLoop {
 public:
  /// `told_to_end`: not 0 once the system wants the program to end; then no question is asked. All must
  /// outlive this.
  WindowLoop(Platform& platform, Studio& studio, const std::atomic<int>& told_to_end)
      : platform_(platform), studio_(studio), told_to_end_(told_to_end) {}

  /// Waits for something to happen, and draws a frame. Returns false, without a frame, when the studio is to
  /// end.
  bool next_frame();

 private:
  void draw();

  Platform& platform_;
  Studio& studio_;
  const std::atomic<int>& told_to_end_;
  double wait_seconds_ = 0;
  bool failed_ = false;  ///< the last frame could not be drawn
  std::string problem_;  ///< the last reason
};

}  // namespace shardlens::ui
