// The contents of the Timeline for a snapshot, computed without drawing: the events, whether they were
// measured or only estimated, and the place of each block on the axis. Blocks too narrow to see are joined,
// so that the number of rectangles depends on the panel's width and not on the length of the Program.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/runtime/snapshot.h"
#include "ui/widgets/stretch.h"

namespace shardlens::ui {

using Events = std::vector<std::vector<StepEvent>>;  ///< [rank][step], seconds since the run began

struct Tracks {
  std::shared_ptr<const Plan> plan;  ///< the plan that ran or will run; null: nothing to show
  std::shared_ptr<const Events> events = std::make_shared<Events>();
  double begin_seconds = 0;  ///< of the axis: for a run that ended early, the begin of its first step
  double seconds = 0;        ///< when the last rank is done; 0: no times are known
  bool measured = false;
  bool replayed = false;              ///< measured in a recorded run
  double clock_step = 0;              ///< of the clock that measured, in seconds; 0: an estimate, or finer
  std::optional<RunFailure> failure;  ///< a rank ended the run: some tracks are shorter than others

  const Events& ranks() const { return *events; }
};

/// The events of the result shown when it was timed, else its plan's estimate.
Tracks tracks_of(const Snapshot& snapshot);

/// The whole axis of these tracks.
inline Stretch axis_of(const Tracks& tracks) {
  return {tracks.begin_seconds, tracks.seconds};
}

/// A rectangle of a track: one step, or several neighbours that are each narrower than a pixel.
struct TrackBlock {
  StepId first = 0;
  StepId last = 0;  ///< differs from `first` only for neighbours joined
  double begin_seconds = 0;
  double end_seconds = 0;
  bool joined() const { return first != last; }
};

/// The blocks of one rank's track inside `shown`, in order; a pixel is `pixel_seconds` long. Collectives are
/// left out: however short, each is drawn by itself.
std::vector<TrackBlock> blocks_in(const Program& program, const std::vector<StepEvent>& events, Stretch shown,
                                  double pixel_seconds);

/// The possible names of a step on its blocks, the most informative first: its equation; the symbol of its
/// output, as on the Stage, with its own name; the symbol of its output.
std::vector<std::string> names_of(const Program& program, const Step& step);

/// The one name for all blocks of a step, so that every track reads the same: the first that fits into the
/// narrowest of `rooms` that has room for any name; empty if none has. Narrower blocks have no name.
std::string common_name(const std::vector<std::string>& names, const std::vector<float>& rooms,
                        const std::function<float(const std::string&)>& width);

/// Beside: overlapped steps, which go on while others run. Own: all others.
enum class Lane { Own, Overlapped };
inline Lane lane_of(const Step& step) {
  return step.overlapped ? Lane::Overlapped : Lane::Own;
}

/// The gap around `at` between two steps of the rank's own lane: from the end of one to the begin of the
/// other. nullopt on a step, before the first and after the last.
std::optional<Stretch> gap_at(const Program& program, const std::vector<StepEvent>& events, double at);

/// The step under `at`, or the nearest one not farther than `reach_seconds`; -1: none.
StepId step_at(const Program& program, const std::vector<StepEvent>& events, Lane lane, double at,
               double reach_seconds);

}  // namespace shardlens::ui
