// A spot of light around the mouse while a key is held, so that a room sees what a lecturer points at.
#pragma once

#include "ui/context.h"

namespace shardlens::ui {

struct SpotlightView {
  bool on = false;     ///< in this frame
  bool stays = false;  ///< chosen by name, not by its key: on until a click or Escape
};

/// Call it at the end of the frame.
void draw_spotlight(const Context& context);

}  // namespace shardlens::ui
