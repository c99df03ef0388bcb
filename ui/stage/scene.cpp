// Assembles the scene of one frame.
#include "ui/stage/scene.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "ui/plan/cache.h"
#include "ui/stage/stage_view.h"
#include "ui/theme/phase_colour.h"
#include "ui/widgets/within.h"

namespace shardlens::ui::stage {
namespace {

constexpr float kLeastLane = 80, kLeastGutter = 160;
constexpr float kNarrowLane = 50, kNarrowGutter = 184;  ///< where else ranks would share a lane
constexpr float kBesideGutterText = 32;  ///< the row's edge at the left of its text, and the gap at the right

}  // namespace

Progress Scene::progress(StepId step) const {
  if (step < 0) return Progress::Done;
  // The session's position belongs to other settings than a stale result. In a stale result every step with a
  // sample is done.
  if (stale) return sample(program().step(step).outputs[0], 0) ? Progress::Done : Progress::Ahead;
  const size_t position = result ? context.snapshot.position : 0;
  const size_t index = static_cast<size_t>(step);
  if (index < position) return Progress::Done;
  return result && index == position ? Progress::Next : Progress::Ahead;
}

std::shared_ptr<const TensorSample> Scene::sample(TensorId tensor, int rank) const {
  if (!result || tensor == kNoTensor) return nullptr;
  const size_t r = static_cast<size_t>(rank), t = static_cast<size_t>(tensor);
  if (r >= result->samples.size() || t >= result->samples[r].size()) return nullptr;
  return result->samples[r][t];
}

bool Scene::filled(const Row& row) const {
  return progress(row.step >= 0 ? row.step : row.from) == Progress::Done;
}

ColourScale Scene::scale(TensorId tensor) const {
  std::vector<std::shared_ptr<const TensorSample>> samples;
  for (int rank = 0; rank < program().tp(); ++rank) samples.push_back(sample(tensor, rank));
  return context.heatmaps.scale(samples);
}

bool Scene::selected(const Row& row) const {
  const ViewState& state = context.view;
  if (row.step >= 0) return row.step == state.selected_step;
  return row.tensor != kNoTensor && state.selected_step < 0 && row.tensor == state.selected_tensor;
}

ImU32 Scene::ink(ImU32 colour) const {
  return stale ? mixed(mixed(colour, context.theme.faint, 0.4f), context.theme.window, 0.4f) : colour;
}

TextStyle Scene::text(ImFont* font, float size_at_scale_one, ImU32 colour) const {
  return {font, std::round(px(size_at_scale_one)), ink(colour)};
}

ImU32 Scene::phase_colour(Phase phase) const {
  return ui::phase_colour(context.theme, phase);
}

Rect Scene::row_rect(size_t row) const {
  const float top = row_top(row);
  return {{view.min.x, top}, {view.max.x, top + stack.height[row]}};
}

Rect Scene::plate_rect(const Plate& plate) const {
  const float pad = px(kPlatePad) * std::min(zoom, 1.0f);
  return {{view.min.x + px(4), row_top(plate.first) - pad},
          {view.max.x - px(2), row_rect(plate.last).max.y + pad}};
}

Rect Scene::cell(size_t row, const Lane& lane) const {
  const float left = lane_left(lane), top = row_top(row);
  return {{left, top}, {left + lane.width, top + stack.height[row]}};
}

Rect Scene::weight_room(const Rect& cell) const {
  const float inset = std::min(px(5), cell.height() * 0.1f);
  return {{cell.min.x, cell.min.y + inset}, {cell.min.x + measure.weight, cell.max.y - inset}};
}

Rect Scene::tensor_room(const Rect& cell) const {
  const float inset = std::min(px(4), cell.height() * 0.08f);
  return {{cell.min.x + measure.weight + measure.weight_gap, cell.min.y + inset},
          {cell.max.x, cell.max.y - inset}};
}

namespace {

/// The parts of a scene that depend only on the plan and the open part.
struct Contents {
  std::vector<Row> rows;
  Extent largest;
};

/// Returns the largest sides of the matrices that are drawn.
Extent largest_in(const Program& program, const std::vector<Row>& rows) {
  Extent largest;
  for (const Row& row : rows) {
    if (row.tensor == kNoTensor || program.tensor(row.tensor).kind == MemoryKind::Workspace) continue;
    const MatrixShape shape = matrix_shape(program.tensor(row.tensor));
    largest.rows = std::max(largest.rows, shape.rows);
    largest.cols = std::max(largest.cols, shape.cols);
  }
  return largest;
}

const Contents& contents_of(const std::shared_ptr<const Plan>& plan, int section) {
  static Cache<std::pair<std::shared_ptr<const Plan>, int>, Contents, kPlansAtOnce> known;
  return known.of({plan, section}, [&] {
    const Program& program = plan->program;
    if (section == kWholeModel) return Contents{rows_of(program), largest_matrix(program)};
    Contents contents{rows_of(program, sections_of(plan), section), {}};
    contents.largest = largest_in(program, contents.rows);
    return contents;
  });
}

/// Returns how wide the gutter must be so that no text of its rows is cut.
float gutter_width(const Scene& scene, int section) {
  using Key = std::tuple<std::shared_ptr<const Plan>, int, float>;
  static Cache<Key, float, kPlansAtOnce> known;
  return known.of({scene.plan, section, scene.context.view.ui_scale()}, [&] {
    const TextStyle title = scene.text(scene.context.fonts.mono, kBodySize, 0);
    const TextStyle note = scene.text(scene.context.fonts.body, kSmallSize, 0);
    const TextStyle partial = scene.text(scene.context.fonts.bold, kSmallSize, 0);
    float widest = 0;
    for (const Row& row : scene.rows) {
      if (row.tensor == kNoTensor || row.kind == RowKind::Band || row.kind == RowKind::Line) continue;
      const Tensor& tensor = scene.program().tensor(row.tensor);
      widest = std::max({widest, text_width(title, row.title), text_width(note, "next step: " + row.note),
                         text_width(tensor.layout.kind == LayoutKind::Partial ? partial : note,
                                    to_string(tensor.layout) + " " + to_string(tensor.shape))});
    }
    return widest + scene.px(kBesideGutterText);
  });
}

}  // namespace

Scene make_scene(const Context& context, std::shared_ptr<const Plan> plan,
                 std::shared_ptr<const Result> result, bool stale, Rect view, ImVec2 scroll,
                 Density density) {
  Scene scene(context, std::move(plan), std::move(result));
  scene.stale = stale;
  scene.view = view;
  scene.scroll = scroll;
  scene.zoom = context.view.stage_zoom;
  const int section = is_whole_model(scene.program()) ? context.view.open_section : kWholeModel;
  const Contents& contents = contents_of(scene.plan, section);
  scene.rows = contents.rows;
  if (const auto seen = seen_break(context); seen && scene.result == context.snapshot.result)
    scene.seen = seen;
  for (size_t row = 0; scene.seen && row < scene.rows.size(); ++row) {
    if (scene.rows[row].kind == RowKind::Line && scene.seen->left_out(scene.rows[row].step) != nullptr)
      show_left_out(scene.rows, scene.program(), row);
  }
  const float gutter =
      gutter_width(scene, section);  // of all rows, so that all figures of a plan have the same
  if (const auto& only = context.view.of<StageView>().only) keep_only(scene.rows, only->first, only->last);
  scene.largest = contents.largest;

  const float across = std::max(1.0f, scene.zoom);  // lanes become wider with the zoom, never narrower
  const bool full = density == Density::Full;
  Measure& measure = scene.measure;
  measure.pad = context.px(full ? 12 : 6);
  measure.gutter = full ? within(std::max(view.width() * 0.19f, gutter), context.px(kLeastGutter),
                                 std::max(context.px(224), view.width() * 0.3f))
                        : within(view.width() * 0.42f, context.px(96), context.px(176));
  if (full) measure.gutter += errors_width(scene);
  measure.lane_gap = context.px(full ? 10 : 6);
  const auto lanes_beside = [&](float text, float least) {
    return lanes_of(scene.program(), std::max(view.width() - text - measure.pad, context.px(64)),
                    measure.lane_gap, context.px(least));
  };
  scene.lanes = lanes_beside(measure.gutter, full ? kLeastLane : 36);
  // Beside a lesson and Setup the text gives way: a lane for each rank says more than whole notes.
  const float narrow = context.px(kNarrowGutter) + errors_width(scene);
  if (full && scene.lanes.back().group() && narrow < measure.gutter)
    if (std::vector<Lane> lanes = lanes_beside(narrow, kNarrowLane); !lanes.back().group()) {
      scene.lanes = std::move(lanes);
      measure.gutter = narrow;
    }
  measure.weight = within(scene.lanes[0].width * 0.17f, context.px(full ? 16 : 8), context.px(42)) * across;
  measure.weight_gap = context.px(full ? 6 : 3) * across;
  for (Lane& lane : scene.lanes) {
    lane.x *= across;
    lane.width *= across;
  }
  // Last, because callouts are wrapped in the lanes.
  if (const StageLight& light = context.view.of<StageLight>(); full && light != StageLight{}) {
    scene.dimming = light_rows(scene.rows, places_of(scene.plan, light), light, scene.program().tp(),
                               [&](const std::string& text) { return callout_lines(scene, text); });
    scene.plates = plates_of(scene.rows);
  }
  scene.stack = stack_rows(scene.rows, scene.zoom, context.view.ui_scale());
  return scene;
}

}  // namespace shardlens::ui::stage
