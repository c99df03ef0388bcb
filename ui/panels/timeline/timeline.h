// What the Timeline of a run and that of a whole recording share: their head with transport and summary,
// their tracks, and what a track is drawn with.
#pragma once

#include <span>
#include <string>

#include "ui/context.h"
#include "ui/panels/timeline/tracks.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {

/// The Timeline shows the pass that is looked at and, below it, this machine's run of the same Program.
bool shows_beside(const Context& context);
/// The Timeline shows a whole recording. False in the first frames of one, until its timeline is read.
bool shows_history(const Context& context);

inline constexpr double kSmallestStretchSeconds = 1e-6;  ///< the shortest stretch that is zoomed to

/// A text style of the panel: `size` at scale 1.
inline TextStyle timeline_text(const Context& context, ImFont* font, float size, ImU32 colour) {
  return {font, context.px(size), colour};
}

inline constexpr float kTrackLabelWidth = 72;  ///< left of the tracks, at scale 1
// How much of its colour a block has on the panel's ground: compute, transfer, and waiting, where nothing is
// selected.
inline constexpr float kComputeTint = 0.58f, kTransferTint = 0.88f, kWaitingTint = 0.24f;
inline constexpr float kPlayheadWide = 6;  ///< half the width of its head, at scale 1

/// The rank's colour and name, left of its track, which is `height` high.
void draw_rank_name(const Context& context, ImVec2 left_top, float height, size_t rank);
/// A line of the axis at `x`, from `top` to `bottom`, and its name where it ends before `right` and none of
/// the `marks` that stand on the axis, flags and playheads, would cover it.
void draw_axis_tick(const Context& context, float x, float top, float bottom, float right,
                    const std::string& name, std::span<const float> marks);
/// A triangle on the axis and a line through the tracks.
void draw_playhead_at(const Context& context, float x, float top, float bottom);
/// What the colours of the tracks of `program` are, right of `left` and left of `right`; nothing where that
/// has no room. At `middle` from the top.
void draw_legend(const Context& context, const Program& program, float left, float right, float middle);
/// Pixels of the least of it: what tells transfer from waiting.
float least_legend_width(const Context& context, const Program& program);
/// Where on a rank's track, from `top` on and `height` high, the steps of a lane are drawn: all over it, or
/// in a strip along its bottom, over what the rank computes meanwhile.
struct TrackPart {
  float top, bottom;
};
TrackPart part_of_track(Lane lane, float top, float height);
/// A rank that stood still on purpose for `held_seconds`, in the rectangle of its track; of the axis the
/// pixels from `shown.x` to `shown.y` are seen.
void draw_hold(const Context& context, ImVec2 min, ImVec2 max, ImVec2 shown, double held_seconds);

/// Axis, tracks, playhead and the mouse over them, in what is left of the window. There must be a time to
/// show.
void draw_tracks(const Context& context, const Tracks& tracks);

/// The tracks of one run, and above them what they are.
struct NamedTracks {
  std::string name;  ///< "replayed on AMD EPYC, 2 cores"
  Tracks tracks;
};
/// The same of several runs of one Program, below each other on one axis.
void draw_tracks(const Context& context, const std::vector<NamedTracks>& runs);

}  // namespace shardlens::ui
