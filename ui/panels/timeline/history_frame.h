// One frame of a recording's tracks: the data, the axis, and their place on the screen. Shared by the code
// that draws columns and the code that draws events.
#pragma once

#include <algorithm>
#include <cmath>

#include "engine/runtime/recordings/history_reader.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "ui/panels/timeline/history.h"
#include "ui/widgets/stretch.h"

namespace shardlens::ui {

struct HistoryFrame {
  const Context& context;
  const Program& program;
  Stretch all, shown;   ///< seconds from the beginning of the recording
  ImVec2 min, max;      ///< the tracks' part of the window, without labels and axis
  float pitch, height;  ///< of a track with its gap, and without
  float scroll;         ///< pixels scrolled down
  int tracks;
  bool events;  ///< events are drawn, and not columns

  const HistorySnapshot& history() const { return context.history; }
  const HistorySlice* slice() const { return context.history.slice.get(); }
  double pixel_seconds() const { return shown.size() / std::max(1.0f, max.x - min.x); }
  float x(double seconds) const {
    const double share = (seconds - shown.begin) / shown.size();
    return min.x + static_cast<float>(std::clamp(share, -1.0, 2.0) * static_cast<double>(max.x - min.x));
  }
  float x_of_ns(int64_t ns) const { return x(static_cast<double>(ns) * 1e-9); }
  double seconds(float x_pixels) const { return shown.begin + (x_pixels - min.x) * pixel_seconds(); }
  int64_t ns(double seconds) const { return static_cast<int64_t>(std::llround(seconds * 1e9)); }
  float y(int track) const { return std::round(min.y + static_cast<float>(track) * pitch - scroll); }
  bool in_view(int track) const { return y(track) < max.y && y(track) + height > min.y; }
  bool is_selected(const HistoryPass& pass, StepId step) const {
    return step == context.view.selected_step && pass.pass == context.replay.pass;
  }
};

/// Draws the events of the passes in view, and the lines that join the ranks of a collective.
void draw_history_events(const HistoryFrame& frame);
/// Draws the tracks in columns. What the slice does not cover is drawn from the coarser data of the whole
/// recording.
void draw_history_columns(const HistoryFrame& frame);

}  // namespace shardlens::ui
