// One frame of the Stage, ready to draw: a Program with its results, the place of everything, and the
// colours. The drawing functions read it and have no state.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/runtime/snapshot.h"
#include "ui/context.h"
#include "ui/plan/seen_break.h"
#include "ui/stage/lanes.h"
#include "ui/stage/rows.h"
#include "ui/stage/stage_light.h"
#include "ui/widgets/heatmap.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui::stage {

/// The state of a step: done, next, or still ahead.
enum class Progress { Done, Next, Ahead };

/// Lengths in pixels, all scaled.
struct Measure {
  float pad, gutter, lane_gap, header, weight, weight_gap;
};

struct Scene {
  Scene(const Context& frame, std::shared_ptr<const Plan> shown, std::shared_ptr<const Result> ran)
      : context(frame), plan(std::move(shown)), result(std::move(ran)) {}

  const Context& context;
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const Result> result;  ///< of this plan; null: nothing ran yet
  bool interactive = false;              ///< drawn in the window's Stage, with its small buttons
  bool stale = false;                    ///< belongs to settings that are no longer wanted
  std::optional<SeenBreak> seen;         ///< if the result is that of a planted mistake

  std::vector<Row> rows;
  std::vector<Plate> plates;  ///< under lit rows
  Dimming dimming;
  Stack stack;
  std::vector<Lane> lanes;  ///< in pixels from the end of the gutter, zoomed
  Extent largest;
  Measure measure{};
  float zoom = 1;
  Rect view;  ///< the visible area of the rows, on the screen
  ImVec2 scroll;

  const Program& program() const { return plan->program; }
  Progress progress(StepId step) const;
  /// Returns the sample of a rank's piece of a tensor after its step; null before it.
  std::shared_ptr<const TensorSample> sample(TensorId tensor, int rank) const;
  /// True if the values of this row may be shown. An input has values from the start.
  bool filled(const Row& row) const;
  ColourScale scale(TensorId tensor) const;
  bool selected(const Row& row) const;
  /// True if this row shows wrong values.
  bool is_wrong(const Row& row) const {
    return seen && row.tensor != kNoTensor && seen->is_wrong(row.tensor);
  }

  float px(float at_scale_one) const { return context.px(at_scale_one); }
  /// Returns the colour to draw with: greyer and closer to the background if the result is out of date.
  ImU32 ink(ImU32 colour) const;
  float opacity() const { return stale ? 0.35f : 1.0f; }
  TextStyle text(ImFont* font, float size_at_scale_one, ImU32 colour) const;
  ImU32 phase_colour(Phase phase) const;

  float row_top(size_t row) const { return view.min.y + stack.top[row] - scroll.y; }
  float lane_left(const Lane& lane) const { return view.min.x + measure.gutter + lane.x - scroll.x; }
  Rect lanes_view() const { return {{view.min.x + measure.gutter, view.min.y}, view.max}; }
  Rect row_rect(size_t row) const;
  Rect plate_rect(const Plate& plate) const;
  Rect cell(size_t row, const Lane& lane) const;  ///< a lane's part of a row
  Rect weight_room(const Rect& cell) const;       ///< the part of a cell for its weight
  Rect tensor_room(const Rect& cell) const;
};

/// Compact: next to another scene, with room for little more than the cuts.
enum class Density { Full, Compact };

/// Makes the scene of one frame in a view of `view` pixels; lanes and rows follow view.stage_zoom. `plan`
/// must not be null.
Scene make_scene(const Context& context, std::shared_ptr<const Plan> plan,
                 std::shared_ptr<const Result> result, bool stale, Rect view, ImVec2 scroll,
                 Density density = Density::Full);

/// The layers of a tensor's drawing; draw_tensor_cell() needs a list that is split into them.
enum Layer { kGhostLayer, kHeatmapLayer, kOutlineLayer, kLayers };

/// True if cells of this size show their numbers.
bool has_room_for_numbers(const Scene& scene, float cell_width, float cell_height);

/// Draws all visible rows.
void draw_rows(const Scene& scene, ImDrawList* list);

// Each of these draws its part of the visible area.
void draw_lane_heads(const Scene& scene, ImDrawList* list, Rect room);
/// Where a lane's head is in the room of all heads; nothing if it is scrolled away.
std::optional<Rect> lane_head(const Scene& scene, const Lane& lane, const Rect& room);
void draw_gutter(const Scene& scene, ImDrawList* list, size_t row);
void draw_row_ground(const Scene& scene, ImDrawList* list, size_t row);
void draw_band(const Scene& scene, ImDrawList* list, size_t row);
/// The place at the right end of a band where a click looks inside the collective; without width if the band
/// is too small, or not in the window.
Rect band_button(const Scene& scene, size_t row);
/// The place between this row and the next where a click asks why the ranks do not meet there, in the column
/// of f and g; without size if there is nothing to ask.
Rect why_button(const Scene& scene, size_t row);
void draw_why(const Scene& scene, ImDrawList* list, size_t row);
void draw_line(const Scene& scene, ImDrawList* list, size_t row);
void draw_divider(const Scene& scene, ImDrawList* list, size_t row);
void draw_tensor_cell(const Scene& scene, ImDrawList* list, size_t row, const Lane& lane);

// A lesson's light (draw_light.cpp).
/// The lines of a callout's text in this scene's lanes.
int callout_lines(const Scene& scene, const std::string& text);
void draw_plates(const Scene& scene, ImDrawList* list);
/// Dims the rows and lanes that are not lit.
void draw_shade(const Scene& scene, ImDrawList* list);
void draw_callout(const Scene& scene, ImDrawList* list, size_t row);

// What a planted mistake does to a row (draw_broken.cpp).
/// The edge of a wrong row: torn.
void draw_torn_edge(const Scene& scene, ImDrawList* list, const Rect& row, ImU32 colour);
/// The width of the column of errors at the right of the gutter; 0 if no mistake is shown.
float errors_width(const Scene& scene);
/// The error of a row's tensor, in that column.
void draw_error(const Scene& scene, ImDrawList* list, size_t row);
/// The head of that column.
void draw_errors_head(const Scene& scene, ImDrawList* list, Rect room);
/// "≠" between neighbouring lanes whose copies should be equal and are not.
void draw_unequal(const Scene& scene, ImDrawList* list, size_t row);
/// A collective that is not there: a hollow dashed band, its letter struck out, and what each rank holds
/// passing straight through.
void draw_left_out(const Scene& scene, ImDrawList* list, size_t row);

/// Tooltips for the tensor or the step under the mouse.
void tensor_tooltip(const Scene& scene, const Row& row, TensorId tensor, int rank);
void step_tooltip(const Scene& scene, const Row& row);
void sentence_tooltip(const Scene& scene, const std::string& title, const std::string& sentence);

}  // namespace shardlens::ui::stage
