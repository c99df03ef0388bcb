// Writes the window as a picture, for the command that exports it.
#pragma once

#include "ui/platform/platform.h"
#include "ui/view_state.h"

namespace shardlens::ui {

class WindowPicture {
 public:
  /// Call once per frame, between render() and present(), while view.picture names a file. Writes it after a
  /// few frames, when the palette or list the command came from has gone.
  void write(Platform& platform, ViewState& view);

 private:
  int frames_ = 0;  ///< drawn since the picture was asked for
};

}  // namespace shardlens::ui
