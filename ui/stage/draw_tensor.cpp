// Draws one rank's tensor in its lane: a ghost of the full tensor, the rank's piece at its true place with
// its real values, and an outline that shows the layout: thin for Replicated, the rank's colour for Sharded,
// dashed amber for Partial. When zoomed in enough, the cells show their numbers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ui/stage/scene.h"
#include "ui/widgets/format.h"
#include "ui/widgets/within.h"

namespace shardlens::ui::stage {
namespace {

constexpr float kLeastMaskCell = 1.5f;  ///< pixels; smaller cells of a mask are only grey

// Draws dashes along one side. Only visible dashes are made, also at the largest zoom.
void draw_dashes(ImDrawList* list, bool across, float begin, float end, float at, float thickness, float dash,
                 ImU32 colour) {
  const ImVec2 clip_min = list->GetClipRectMin(), clip_max = list->GetClipRectMax();
  const float low = across ? clip_min.x : clip_min.y, high = across ? clip_max.x : clip_max.y;
  const float period = dash * 1.6f;
  const float skipped = std::max(0.0f, std::floor((low - begin) / period));
  for (float from = begin + skipped * period; from < std::min(end, high); from += period) {
    const float to = std::min(from + dash, end);
    if (across) {
      fill_rect(list, {from, at}, {to, at + thickness}, colour);
    } else {
      fill_rect(list, {at, from}, {at + thickness, to}, colour);
    }
  }
}

void draw_dashed_outline(ImDrawList* list, const Rect& rect, ImU32 colour, float thickness, float dash) {
  const float t = std::max(1.0f, std::round(thickness));
  const ImVec2 a(std::floor(rect.min.x), std::floor(rect.min.y)),
      b(std::ceil(rect.max.x), std::ceil(rect.max.y));
  draw_dashes(list, true, a.x, b.x, a.y, t, dash, colour);
  draw_dashes(list, true, a.x, b.x, b.y - t, t, dash, colour);
  draw_dashes(list, false, a.y, b.y, a.x, t, dash, colour);
  draw_dashes(list, false, a.y, b.y, b.x - t, t, dash, colour);
}

Rect common(const Rect& a, const Rect& b) {
  return {{std::max(a.min.x, b.min.x), std::max(a.min.y, b.min.y)},
          {std::min(a.max.x, b.max.x), std::min(a.max.y, b.max.y)}};
}

// Returns a scale to three times the rms of the exact elements over all ranks. The cells of the picture are
// means, so their values are smaller.
ColourScale exact_scale(const Scene& scene, TensorId tensor) {
  double squares = 0, count = 0, largest = 0;
  for (int rank = 0; rank < scene.program().tp(); ++rank) {
    const auto sample = scene.sample(tensor, rank);
    if (!sample) continue;
    const double n = static_cast<double>(sample->stats.count);
    squares += sample->stats.rms * sample->stats.rms * n;
    count += n;
    largest = std::max({largest, std::abs(sample->stats.min), std::abs(sample->stats.max)});
  }
  const double limit = count > 0 ? std::min(largest, 3 * std::sqrt(squares / count)) : 0;
  return {ColourMap::Signed, limit > 0 ? limit : 1};
}

// Calls visit(row, column, place) for every element of a piece that is inside the clip rectangle.
template <class Visit>
void for_each_seen(ImDrawList* list, const Piece& piece, const Visit& visit) {
  const float width = piece.place.width() / static_cast<float>(piece.local_cols.size());
  const float height = piece.place.height() / static_cast<float>(piece.local_rows.size());
  const Rect seen = common(piece.place, {list->GetClipRectMin(), list->GetClipRectMax()});
  const auto range = [](float begin, float end, float origin, float cell, Range all) {
    return Range{within(all.begin + static_cast<int64_t>((begin - origin) / cell), all.begin, all.end),
                 within(all.begin + static_cast<int64_t>((end - origin) / cell) + 1, all.begin, all.end)};
  };
  const Range rows = range(seen.min.y, seen.max.y, piece.place.min.y, height, piece.local_rows);
  const Range cols = range(seen.min.x, seen.max.x, piece.place.min.x, width, piece.local_cols);
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    for (int64_t col = cols.begin; col < cols.end; ++col) {
      const ImVec2 at{piece.place.min.x + static_cast<float>(col - piece.local_cols.begin) * width,
                      piece.place.min.y + static_cast<float>(row - piece.local_rows.begin) * height};
      visit(row, col, Rect{at, {at.x + width, at.y + height}});
    }
  }
}

bool shows_numbers(const Scene& scene, const Piece& piece) {
  return has_room_for_numbers(scene, piece.place.width() / static_cast<float>(piece.local_cols.size()),
                              piece.place.height() / static_cast<float>(piece.local_rows.size()));
}

// Draws the numbers in the cells of one piece, if they fit.
void draw_numbers(const Scene& scene, ImDrawList* list, const Piece& piece, const TensorSample& sample,
                  ColourScale scale) {
  if (!shows_numbers(scene, piece)) return;
  const float size = std::round(scene.px(kSmallSize));
  for_each_seen(list, piece, [&](int64_t row, int64_t col, const Rect& cell) {
    const double value = sample.value(row, col);
    const TextStyle style{scene.context.fonts.mono, size,
                          legible_on(scene.context.theme, colour_of(value, scale))};
    draw_text(list, {(cell.min.x + cell.max.x) / 2, (cell.min.y + cell.max.y - size) / 2}, style,
              format_value(value), Align::Centre);
  });
}

// Draws what a dropout set to zero as dark cells: its mask. On the scale of the values, zero looks like any
// small number. Numbers say it themselves.
void draw_mask(const Scene& scene, ImDrawList* list, const Piece& piece, const TensorSample& sample) {
  const float least = std::min(piece.place.width() / static_cast<float>(piece.local_cols.size()),
                               piece.place.height() / static_cast<float>(piece.local_rows.size()));
  if (!sample.has_exact() || least < kLeastMaskCell || shows_numbers(scene, piece)) return;
  const ImU32 dark = scene.ink(legible_on(scene.context.theme, colour_of(0, {ColourMap::Signed, 1})));
  for_each_seen(list, piece, [&](int64_t row, int64_t col, const Rect& cell) {
    if (sample.value(row, col) == 0) fill_rect(list, cell.min, cell.max, dark);
  });
}

// True if zeros of this tensor are what a dropout set to zero. Zeros of a difference are equal numbers.
bool is_masked(const Scene& scene, TensorId tensor) {
  const bool is_difference = scene.seen && scene.seen->side() == BreakSide::Difference;
  if (scene.program().settings.dropout == 0 || is_difference) return false;
  const StepId made = producer_of(scene.program(), tensor);
  return made >= 0 && scene.program().step(made).op == Op::Dropout;
}

// Draws a piece's values: the picture, or the exact elements when the picture's cells are large on the
// screen.
void draw_values(const Scene& scene, ImDrawList* list, TensorId tensor, const Piece& piece,
                 const std::shared_ptr<const TensorSample>& sample) {
  const Picture& picture = sample->picture;
  const float rows = static_cast<float>(std::max<int64_t>(1, piece.local_rows.size()));
  const float cols = static_cast<float>(std::max<int64_t>(1, piece.local_cols.size()));
  const float element_width = piece.place.width() / cols, element_height = piece.place.height() / rows;
  const float picture_width =
      element_width * static_cast<float>(sample->matrix.cols) / static_cast<float>(std::max(1, picture.cols));
  const float picture_height = element_height * static_cast<float>(sample->matrix.rows) /
                               static_cast<float>(std::max(1, picture.rows));
  const bool coarse = picture.cols < sample->matrix.cols || picture.rows < sample->matrix.rows;
  const bool near =
      element_width >= 1 && element_height >= 1 && std::max(picture_width, picture_height) >= scene.px(4);
  if (sample->has_exact() && (near || !coarse)) {
    const ColourScale scale = coarse ? exact_scale(scene, tensor) : scene.scale(tensor);
    if (coarse) {
      scene.context.heatmaps.draw_exact(list, piece.place.min, piece.place.max, sample, scale,
                                        piece.local_rows, piece.local_cols, scene.opacity());
    } else {
      scene.context.heatmaps.draw(list, piece.place.min, piece.place.max, sample, picture, scale, piece.uv0,
                                  piece.uv1, scene.opacity());
    }
    choose_layer(list, kOutlineLayer);
    draw_numbers(scene, list, piece, *sample, scale);
    return;
  }
  scene.context.heatmaps.draw(list, piece.place.min, piece.place.max, sample, picture, scene.scale(tensor),
                              piece.uv0, piece.uv1, scene.opacity());
}

bool is_all_zero(const TensorStats& stats) {
  return stats.count > 0 && stats.nan_count == 0 && stats.min == 0 && stats.max == 0;
}

// Writes the first of the words that fits into the middle of a ghost. Without a word, zeros and what a rank
// does not hold would look as if something were not drawn.
void draw_within(const Scene& scene, ImDrawList* list, const Rect& ghost, ImU32 colour,
                 std::initializer_list<const char*> forms) {
  const TextStyle style = scene.text(scene.context.fonts.body, kSmallSize, colour);
  if (ghost.height() < style.size) return;
  for (const char* words : forms) {
    if (text_width(style, words) > ghost.width()) continue;
    choose_layer(list, kOutlineLayer);
    draw_text(list, {(ghost.min.x + ghost.max.x) / 2, (ghost.min.y + ghost.max.y - style.size) / 2}, style,
              words, Align::Centre);
    return;
  }
}

// Draws a tensor. `fill`: its values may be shown. Ranks [first, last] share the ghost.
void draw_tensor(const Scene& scene, ImDrawList* list, TensorId id, const Rect& ghost, int first, int last,
                 bool fill) {
  const Theme& theme = scene.context.theme;
  const Tensor& tensor = scene.program().tensor(id);
  const bool partial = tensor.layout.kind == LayoutKind::Partial;
  const bool sharded = tensor.layout.kind == LayoutKind::Sharded;
  choose_layer(list, kGhostLayer);
  fill = fill && scene.sample(id, first);
  if (sharded || !fill) fill_rect(list, ghost.min, ghost.max, scene.ink(theme.ghost));
  // Replicated and Partial tensors look alike on every rank of the lane, so one rank is drawn for all.
  const int drawn_last = sharded ? last : first;
  // Alone in its lane, a rank's piece may be as wide as a line can be seen. In a lane of several ranks, wider
  // pieces would cover each other.
  const float least = first == last ? std::max(1.0f, std::round(scene.px(1))) : 1;
  const bool masked = fill && is_masked(scene, id);
  bool is_held = false;
  for (int rank = first; rank <= drawn_last; ++rank) {
    const std::shared_ptr<const TensorSample> sample = fill ? scene.sample(id, rank) : nullptr;
    const ImU32 colour = sharded ? theme.rank_outlines[rank % 8] : partial ? theme.communication : theme.dim;
    const ImU32 outline = scene.ink(fill ? colour : faded(colour, 0.6f));
    for (const Piece& piece : pieces_of(tensor, scene.program().tp(), rank, ghost, least)) {
      is_held = true;
      choose_layer(list, kHeatmapLayer);
      if (sample) draw_values(scene, list, id, piece, sample);
      choose_layer(list, kOutlineLayer);
      if (masked && sample) draw_mask(scene, list, piece, *sample);
      if (partial) {
        draw_dashed_outline(list, piece.place, outline, scene.px(1.5f), scene.px(5));
      } else {
        // A narrow piece gets a thin outline, so that its values stay visible.
        const bool narrow = std::min(piece.place.width(), piece.place.height()) < scene.px(14);
        outline_rect(list, piece.place.min, piece.place.max, outline, 0,
                     sharded && !narrow ? scene.px(2) : scene.px(1));
      }
    }
    if (sample && !sharded && is_all_zero(sample->stats))
      draw_within(scene, list, ghost, legible_on(theme, colour_of(0, scene.scale(id))), {"all 0"});
    if (sample && sample->stats.nan_count > 0) {
      const TextStyle style = scene.text(scene.context.fonts.bold, kSmallSize, theme.window);
      const ImVec2 at(ghost.min.x + scene.px(4), ghost.min.y + scene.px(3));
      fill_rect(list, {at.x - scene.px(2), at.y},
                {at.x + text_width(style, "NaN") + scene.px(2), at.y + style.size}, scene.ink(theme.text));
      draw_text(list, at, style, "NaN");
    }
  }
  if (!is_held) draw_within(scene, list, ghost, theme.dim, {"holds nothing", "nothing", "–"});
}

// Draws a product's weight and, below it, the bias that is cut with it. Both have values from the start, even
// if their step has not run yet.
void draw_weights(const Scene& scene, ImDrawList* list, const Row& row, Rect room, const Lane& lane) {
  const Program& program = scene.program();
  if (row.vector != kNoTensor) {
    const float strip = std::max(3.0f, std::round(room.height() * 0.13f));
    if (row.matrix == kNoTensor) {
      const float middle = (room.min.y + room.max.y) / 2;
      draw_tensor(scene, list, row.vector,
                  {{room.min.x, middle - strip / 2}, {room.max.x, middle + strip / 2}}, lane.first, lane.last,
                  true);
      return;
    }
    const float gap = std::max(1.0f, std::round(strip / 2));
    const Rect matrix =
        weight_ghost_of(program.tensor(row.matrix), {room.min, {room.max.x, room.max.y - strip - gap}});
    draw_tensor(scene, list, row.matrix, matrix, lane.first, lane.last, true);
    draw_tensor(scene, list, row.vector,
                {{matrix.min.x, matrix.max.y + gap}, {matrix.max.x, matrix.max.y + gap + strip}}, lane.first,
                lane.last, true);
    return;
  }
  if (row.matrix != kNoTensor) {
    draw_tensor(scene, list, row.matrix, weight_ghost_of(program.tensor(row.matrix), room), lane.first,
                lane.last, true);
  }
}

Rect ghost_in(const Scene& scene, size_t row, const Lane& lane) {
  const Tensor& tensor = scene.program().tensor(scene.rows[row].tensor);
  return ghost_of(tensor, scene.largest, scene.tensor_room(scene.cell(row, lane)));
}

// The lines "partial" and "Σ over 4" (of a maximum "max over 4") at the right of a row's ghosts, or the part
// of them that fits. All lanes of a row say the same, though rounding gives some of them a pixel more.
std::vector<std::string> partial_lines(const Scene& scene, size_t row, const TextStyle& word,
                                       const TextStyle& sum) {
  float space = std::numeric_limits<float>::max(), height = space;
  for (const Lane& lane : scene.lanes) {
    const Rect ghost = ghost_in(scene, row, lane);
    space =
        std::min(space, scene.cell(row, lane).max.x + scene.measure.lane_gap - scene.px(10) - ghost.max.x);
    height = std::min(height, ghost.height());
  }
  const Layout& layout = scene.program().tensor(scene.rows[row].tensor).layout;
  const std::string combined = layout.reduction == Reduction::Max ? "max" : "Σ";
  const std::string terms = fmt::format("{} over {}", combined, scene.program().tp());
  if (height < word.size) return {};
  if (height >= 2 * word.size && std::max(text_width(word, "partial"), text_width(sum, terms)) <= space)
    return {"partial", terms};
  const std::string forms[] = {"partial", combined};
  const std::string words = longest_fitting(word, forms, space);
  return words.empty() ? std::vector<std::string>() : std::vector{words};
}

void draw_partial_words(const Scene& scene, ImDrawList* list, size_t row, const Rect& ghost) {
  const TextStyle word = scene.text(scene.context.fonts.bold, 12, scene.context.theme.communication);
  const TextStyle sum = scene.text(scene.context.fonts.body, 12, scene.context.theme.dim);
  const std::vector<std::string> lines = partial_lines(scene, row, word, sum);
  const float left = ghost.max.x + scene.px(6), middle = (ghost.min.y + ghost.max.y) / 2;
  if (lines.size() == 1) draw_text(list, {left, middle - word.size / 2}, word, lines[0]);
  if (lines.size() != 2) return;
  draw_text(list, {left, middle - word.size - scene.px(1)}, word, lines[0]);
  draw_text(list, {left, middle + scene.px(1)}, sum, lines[1]);
}

}  // namespace

bool has_room_for_numbers(const Scene& scene, float cell_width, float cell_height) {
  const float size = std::round(scene.px(kSmallSize));
  return cell_width >= size * 3.6f && cell_height >= size * 1.2f;
}

void draw_tensor_cell(const Scene& scene, ImDrawList* list, size_t row_index, const Lane& lane) {
  const Theme& theme = scene.context.theme;
  const Row& row = scene.rows[row_index];
  const Tensor& tensor = scene.program().tensor(row.tensor);
  const Rect cell = scene.cell(row_index, lane);
  const bool fill = scene.filled(row);

  draw_weights(scene, list, row, scene.weight_room(cell), lane);

  const Rect ghost = ghost_in(scene, row_index, lane);
  draw_tensor(scene, list, row.tensor, ghost, lane.first, lane.last, fill);
  if (row.step >= 0 && scene.progress(row.step) == Progress::Next) {
    draw_dashed_outline(list, ghost, scene.ink(scene.phase_colour(row.phase)), scene.px(1.5f), scene.px(5));
  }

  const ViewState& state = scene.context.view;
  if (scene.selected(row) && state.selected_tensor == row.tensor && state.selected_rank >= lane.first &&
      state.selected_rank <= lane.last) {
    const float away = scene.px(3);
    outline_rect(list, {ghost.min.x - away, ghost.min.y - away}, {ghost.max.x + away, ghost.max.y + away},
                 scene.ink(theme.text), 0, scene.px(1.5f));
  }

  if (tensor.layout.kind == LayoutKind::Partial) draw_partial_words(scene, list, row_index, ghost);
}

}  // namespace shardlens::ui::stage
