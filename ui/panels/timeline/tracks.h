// What the timeline shows of a snapshot, found without drawing: which events, whether they were measured or
// only estimated, and where on the screen's axis each block lies. Blocks too narrow to see are joined, so
// that the number of rectangles follows the panel's width and not the length of the program.
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
  std::shared_ptr<const Plan> plan;  ///< what was or will be run; null: nothing to show
  std::shared_ptr<const Events> events = std::make_shared<Events>();
  double begin_seconds = 0;  ///< of the axis: of a run that ended early when its first step began
  double seconds = 0;        ///< when the last rank is done; 0: no times are known
  bool measured = false;
  bool replayed = false;              ///< measured where it was recorded
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

/// What a step may be called on its blocks, the most telling name first: its equation, what it makes (as the
/// Stage calls it) and its own name, what it makes.
std::vector<std::string> names_of(const Program& program, const Step& step);

/// The one name that all blocks of a step bear, so that it reads the same on every track: the first that fits
/// into the narrowest of `rooms` that any name fits into; empty where none does. Narrower blocks have none.
std::string common_name(const std::vector<std::string>& names, const std::vector<float>& rooms,
                        const std::function<float(const std::string&)>& width);

/// Whether steps that go on beside the others are meant, or the others.
enum class Lane { Own, Beside };
inline Lane lane_of(const Step& step) {
  return step.beside ? Lane::Beside : Lane::Own;
}

/// Where `at` lies between two steps of the rank's own lane: from the one's end to the other's begin. Nothing
/// on a step, before the first and after the last.
std::optional<Stretch> gap_at(const Program& program, const std::vector<StepEvent>& events, double at);

/// The step under `at`, or the nearest one not farther than `reach_seconds`; -1: none.
StepId step_at(const Program& program, const std::vector<StepEvent>& events, Lane lane, double at,
               double reach_seconds);

}  // namespace shardlens::ui
