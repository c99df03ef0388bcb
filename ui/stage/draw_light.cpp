// Draws a lesson's light: the plates under lit rows, the shade over all others, and the callouts.
#include <algorithm>
#include <cmath>

#include "ui/stage/scene.h"

namespace shardlens::ui::stage {
namespace {

constexpr float kWidestCallout = 640;      ///< longer lines are hard to read
constexpr float kCalloutPad = 4;           ///< between its text and the plate's edge, or its leader
constexpr float kTick = 6;                 ///< a band's ticks reach out so far
constexpr float kLeaderGap = 3, kDot = 3;  ///< between the dot of a leader and what it points at; its radius

TextStyle callout_style(const Scene& scene) {
  return scene.text(scene.context.fonts.body, kBodySize, scene.context.theme.text);
}

/// Where callouts stand: the visible part of the lanes.
Rect callout_room(const Scene& scene) {
  const Rect lanes = scene.lanes_view();
  return {{lanes.min.x + scene.px(4), lanes.min.y}, {lanes.max.x - scene.px(10), lanes.max.y}};
}

float wrap_width(const Scene& scene) {
  return std::min(callout_room(scene).width(), scene.px(kWidestCallout));
}

/// The place of what a lane shows of a row: of the piece of `rank`, or of the whole ghost if that is -1.
Rect place_in_lane(const Scene& scene, size_t row, const Lane& lane, int rank) {
  const Tensor& tensor = scene.program().tensor(scene.rows[row].tensor);
  const Rect ghost = ghost_of(tensor, scene.largest, scene.tensor_room(scene.cell(row, lane)));
  if (tensor.layout.kind != LayoutKind::Sharded || rank < 0) return ghost;
  const std::vector<Piece> pieces = pieces_of(tensor, scene.program().tp(), rank, ghost);
  if (pieces.empty()) return ghost;
  Rect place = pieces.front().place;
  for (const Piece& piece : pieces) {
    place.min = {std::min(place.min.x, piece.place.min.x), std::min(place.min.y, piece.place.min.y)};
    place.max = {std::max(place.max.x, piece.place.max.x), std::max(place.max.y, piece.place.max.y)};
  }
  return place;
}

/// The ends of a callout's leaders, from left to right: at its row of tensors one for each lane that is not
/// dim, else one in the middle of the band.
std::vector<ImVec2> ends_of_leaders(const Scene& scene, size_t callout, size_t about) {
  const Row& row = scene.rows[callout];
  const float away = scene.px(kLeaderGap + kDot);
  if (!draws_tensor(scene.rows[about].kind)) {
    const Rect rect = scene.row_rect(about);
    const float x = std::round((rect.min.x + scene.measure.gutter + rect.max.x - scene.px(8)) / 2);
    const float reach = scene.rows[about].kind == RowKind::Line ? 0 : scene.px(kTick);
    return {{x, row.points_up ? rect.max.y + reach + away : rect.min.y - reach - away}};
  }
  std::vector<ImVec2> ends;
  for (const Lane& lane : scene.lanes) {
    const bool is_other = row.rank >= 0 && (row.rank < lane.first || row.rank > lane.last);
    if (is_other || scene.dimming.lane_is_dim(lane.first, lane.last)) continue;
    const int rank = row.rank >= 0 || lane.group() ? row.rank : lane.first;
    const Rect place = place_in_lane(scene, about, lane, rank);
    const float x = std::round((place.min.x + place.max.x) / 2);
    if (x < scene.lanes_view().min.x || x > scene.lanes_view().max.x) continue;
    ends.push_back({x, row.points_up ? place.max.y + away : place.min.y - away});
  }
  return ends;
}

}  // namespace

ImU32 plate_colour(const Theme& theme) {
  return theme.panel == theme.window ? theme.card : theme.panel;
}

ImU32 shade_of(ImU32 ground) {
  return faded(ground, 0.7f);
}

int callout_lines(const Scene& scene, const std::string& text) {
  const TextStyle style = callout_style(scene);
  return static_cast<int>(
      std::lround(wrapped_height(style, text, wrap_width(scene)) / wrapped_height(style, "1", 0)));
}

void draw_plates(const Scene& scene, ImDrawList* list) {
  for (const Plate& plate : scene.plates) {
    const Rect rect = scene.plate_rect(plate);
    if (rect.max.y < scene.view.min.y || rect.min.y > scene.view.max.y) continue;
    fill_rect(list, rect.min, rect.max, plate_colour(scene.context.theme), scene.px(6));
  }
}

void draw_shade(const Scene& scene, ImDrawList* list) {
  const Theme& theme = scene.context.theme;
  for (size_t row = 0; row < scene.rows.size() && !scene.dimming.ranks.empty(); ++row) {
    if (!draws_tensor(scene.rows[row].kind) || (scene.dimming.rows && !scene.rows[row].lit)) continue;
    const ImU32 ground = scene.rows[row].lit ? plate_colour(theme) : theme.window;
    for (const Lane& lane : scene.lanes) {
      Rect cell = scene.cell(row, lane);
      cell.min.x = std::max(cell.min.x, scene.lanes_view().min.x);
      cell.max.x = std::min(cell.max.x + scene.measure.lane_gap, scene.view.max.x);  // words beside a ghost
      if (scene.dimming.lane_is_dim(lane.first, lane.last) && cell.max.x > cell.min.x)
        fill_rect(list, cell.min, cell.max, shade_of(ground));
    }
  }
  if (!scene.dimming.rows) return;
  float y = scene.view.min.y;
  const auto shade_to = [&](float end) {
    end = std::min(end, scene.view.max.y);
    if (end > y) fill_rect(list, {scene.view.min.x, y}, {scene.view.max.x, end}, shade_of(theme.window));
  };
  for (const Plate& plate : scene.plates) {
    const Rect rect = scene.plate_rect(plate);
    shade_to(rect.min.y);
    y = std::max(y, rect.max.y);
  }
  shade_to(scene.view.max.y);
}

void draw_callout(const Scene& scene, ImDrawList* list, size_t index) {
  const Row& row = scene.rows[index];
  const std::vector<ImVec2> ends = ends_of_leaders(scene, index, row.points_up ? index - 1 : index + 1);
  const Rect lanes = callout_room(scene), rect = scene.row_rect(index);
  const TextStyle style = callout_style(scene);
  const float height = wrapped_height(style, row.title, wrap_width(scene));
  const float pad = scene.px(kCalloutPad);
  const float top = row.points_up ? rect.max.y - pad - height : rect.min.y + pad;
  // In the middle of what it is about, as far as there is room.
  float middle = ends.empty() ? (lanes.min.x + lanes.max.x) / 2 : (ends.front().x + ends.back().x) / 2;
  const float half = std::min(text_width(style, row.title), wrap_width(scene)) / 2;
  if (2 * half < lanes.width())
    middle = std::clamp(middle, lanes.min.x + half, lanes.max.x - half);
  else
    middle = (lanes.min.x + lanes.max.x) / 2;
  draw_wrapped(list, {middle, top}, style, row.title, wrap_width(scene), Align::Centre);

  const ImU32 colour = scene.ink(scene.context.theme.dim);
  const float thin = std::max(1.0f, std::round(scene.px(1))), dot = scene.px(kDot);
  const float bus = std::round(row.points_up ? top - pad : top + height + pad);
  if (ends.size() > 1) fill_rect(list, {ends.front().x, bus}, {ends.back().x + thin, bus + thin}, colour);
  for (const ImVec2 end : ends) {
    fill_rect(list, {end.x, std::min(bus, end.y)}, {end.x + thin, std::max(bus, end.y)}, colour);
    fill_rect(list, {end.x - dot + thin / 2, end.y - dot}, {end.x + dot + thin / 2, end.y + dot}, colour,
              dot);
  }
}

}  // namespace shardlens::ui::stage
