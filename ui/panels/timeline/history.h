// The Timeline of a recording: all of its passes on one axis, panned and zoomed. Its data comes from a
// HistoryReader. The number of rectangles that it draws depends on the pixels, not on the recording's length.
#pragma once

#include <algorithm>
#include <optional>

#include "engine/runtime/recordings/history_reader.h"
#include "ui/context.h"
#include "ui/panels/timeline/history_columns.h"
#include "ui/panels/timeline/history_view.h"
#include "ui/panels/timeline/timeline.h"
#include "ui/widgets/stretch.h"

namespace shardlens::ui {

/// The axis of the whole recording, in seconds from its beginning.
inline Stretch axis_of(const HistorySnapshot& history) {
  return {0, static_cast<double>(history.end_ns) * 1e-9};
}
inline Stretch shown_of(const HistoryView& view, const HistorySnapshot& history) {
  return clamped(view.shown, axis_of(history));
}

/// An event that is drawn.
struct HistoryHit {
  std::shared_ptr<const HistoryPass> pass;
  int rank = 0;
  StepId step = 0;
};

/// The event of `rank` under `seconds`, or the nearest one not farther than `reach_seconds`.
std::optional<HistoryHit> hit_in(const Program& program, const HistorySlice& slice, int rank, Lane lane,
                                 double seconds, double reach_seconds);
/// The pass under `seconds`; null: there is none, or the passes are not known.
std::shared_ptr<const HistoryPass> pass_at(const HistorySlice& slice, double seconds);

/// The stretch to ask for if `shown` is drawn in columns of `column` nanoseconds; nullopt if the earlier
/// request `asked` is enough.
std::optional<HistoryAsked> look_needed(Stretch shown, Stretch all, int64_t column,
                                        const HistoryAsked& asked);

// Parts of the panel, from the top. Each draws into the current window.
void draw_search(const Context& context, float left, float right);
void draw_history_map(const Context& context, ImVec2 min, ImVec2 max);
void draw_history_tracks(const Context& context);

/// Pans, but does not zoom, so that a step of the shown pass is visible, on the selected rank or the first.
void show_in_history(const Context& context, StepId step);

/// Brings the result of a search into view, and shows its pass.
void follow_found(const Context& context);
void ask_for(const Context& context, HistoryFind find);

}  // namespace shardlens::ui
