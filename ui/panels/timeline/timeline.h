// Shared by the Timeline of a run and that of a whole recording: their head with transport and summary, their
// tracks, and the parts of a track.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "ui/context.h"
#include "ui/panels/timeline/tracks.h"
#include "ui/plan/seen_break.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {

/// True if the Timeline shows the chosen pass and, below it, this machine's run of the same Program.
bool shows_beside(const Context& context);
/// True if the Timeline shows a whole recording. False in its first frames, until its timeline is read.
bool shows_history(const Context& context);

inline constexpr double kSmallestStretchSeconds = 1e-6;  ///< the shortest stretch that is zoomed to

/// A text style of the panel: `size` at scale 1.
inline TextStyle timeline_text(const Context& context, ImFont* font, float size, ImU32 colour) {
  return {font, context.px(size), colour};
}

inline constexpr float kTrackLabelWidth = 72;  ///< left of the tracks, at scale 1
// The strength of a block's colour on the panel's ground: compute, transfer and waiting, if nothing is
// selected.
inline constexpr float kComputeTint = 0.58f, kTransferTint = 0.88f, kWaitingTint = 0.24f;
inline constexpr float kPlayheadWide = 6;  ///< half the width of its head, at scale 1

/// Draws the rank's colour and name, left of its track, which is `height` high; bold if it is selected.
void draw_rank_name(const Context& context, ImVec2 left_top, float height, size_t rank);
/// While the mouse is over a rank's name: a click selects the rank in every panel, and another one takes that
/// back.
void point_at_rank_name(const Context& context, int rank, bool clicked);
/// Draws a line of the axis at `x`, from `top` to `bottom`. Also draws its name if it ends before `right` and
/// none of the `marks` on the axis (flags and playheads) covers it.
void draw_axis_tick(const Context& context, float x, float top, float bottom, float right,
                    const std::string& name, std::span<const float> marks);
/// Draws a triangle on the axis and a line through the tracks.
void draw_playhead_at(const Context& context, float x, float top, float bottom);
/// Draws the legend of the colours of the tracks of `program`, between `left` and `right`, with its middle at
/// the height `middle`. Draws nothing if there is no room.
void draw_legend(const Context& context, const Program& program, float left, float right, float middle);
/// The widths of the whole legend, of one without the overlapped steps, and of the smallest one: transfer and
/// waiting.
struct LegendWidths {
  float whole = 0, with_phases = 0, least = 0;
};
LegendWidths legend_widths(const Context& context, const Program& program);
/// The part of a rank's track, from `top` on and `height` high, for the steps of a lane: all of it or, for
/// overlapped steps, a strip along its bottom, over what the rank computes meanwhile.
struct TrackPart {
  float top, bottom;
};
TrackPart part_of_track(Lane lane, float top, float height);
/// Draws that a rank was late on purpose by `held_seconds`, in the rectangle on its track. The visible pixels
/// of the axis are from `shown.x` to `shown.y`.
void draw_hold(const Context& context, ImVec2 min, ImVec2 max, ImVec2 shown, double held_seconds);

/// What is wrong in the shown run of a planted mistake: a torn line at the height `bottom`, along the steps
/// that write wrong values, and a dashed line from `top` to `bottom` where a collective is left out. `x`
/// returns the place of a second on the axis.
void draw_wrong_times(const Context& context, const SeenBreak& seen, const Tracks& tracks,
                      const std::function<float(double)>& x, float top, float bottom);

/// Draws axis, tracks and playhead in the rest of the window, and handles the mouse over them. `tracks` must
/// have times.
void draw_tracks(const Context& context, const Tracks& tracks);

/// The tracks of one run, and the name above them.
struct NamedTracks {
  std::string name;  ///< "replayed on AMD EPYC, 2 cores"
  Tracks tracks;
};
/// Draws several runs of one Program, below each other on one axis.
void draw_tracks(const Context& context, const std::vector<NamedTracks>& runs);

}  // namespace shardlens::ui
