// Draws what a planted mistake does to the rows: the torn edge and the error of a wrong tensor, "≠" between
// copies that should be equal, and the band of a collective that is left out.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/runtime/snapshot.h"
#include "ui/stage/meeting.h"
#include "ui/stage/scene.h"
#include "ui/widgets/format.h"

namespace shardlens::ui::stage {
namespace {

constexpr float kErrorSize = 15;
constexpr float kUnequalSize = 22;
constexpr float kLeftOutSize = 18;

/// The places where the ranks' tensors stand in their lanes, for the row above or below a band.
float middle_of_tensor(const Scene& scene, size_t row, const Lane& lane, TensorId tensor) {
  const Rect ghost =
      ghost_of(scene.program().tensor(tensor), scene.largest, scene.tensor_room(scene.cell(row, lane)));
  return (ghost.min.x + ghost.max.x) / 2;
}

void draw_arrow(const Scene& scene, ImDrawList* list, float x, float top, float bottom, int rank) {
  const ImU32 colour = scene.ink(scene.context.theme.rank_outlines[rank % 8]);
  const float head = scene.px(5), width = std::max(2.0f, std::round(scene.px(2.5f)));
  x = std::round(x);
  fill_rect(list, {x - width / 2, top}, {x + width / 2, bottom - head}, colour);
  fill_triangle(list, {x - head, bottom - 1.6f * head}, {x + head, bottom - 1.6f * head}, {x, bottom}, colour);
}

/// What the band says: the collective, that it is left out, and what was sent of what it sends.
struct LeftOutWords {
  std::string title, sent;
};

LeftOutWords left_out_words(const Scene& scene, const Row& row, const Step& sound) {
  int64_t sent = 0;
  for (const std::vector<StepEvent>& rank : scene.seen->probe().pass.broken->events)
    if (static_cast<size_t>(row.step) < rank.size())
      sent = std::max(sent, rank[static_cast<size_t>(row.step)].sent_bytes);
  const Program& program = scene.seen->sound();
  return {collective_title(program, sound),
          fmt::format("{} of {} sent", bytes_text(static_cast<double>(sent)),
                      bytes_text(static_cast<double>(sent_bytes(program, sound.id))))};
}

}  // namespace

void draw_torn_edge(const Scene& scene, ImDrawList* list, const Rect& row, ImU32 colour) {
  const float x = row.min.x + scene.measure.pad + scene.px(1);
  draw_torn_line(list, {x, row.min.y}, {x, row.max.y}, scene.ink(colour), std::max(1.5f, scene.px(1.8f)),
                 std::min(scene.px(4), row.height() / 4));
}

float errors_width(const Scene& scene) {
  return scene.seen ? scene.px(68) : 0;
}

void draw_error(const Scene& scene, ImDrawList* list, size_t row_index) {
  const Row& row = scene.rows[row_index];
  if (!scene.seen || row.tensor == kNoTensor || scene.seen->side() == BreakSide::Sound) return;
  const TensorError* const error = scene.seen->error(row.tensor);
  if (error == nullptr) return;
  const Theme& theme = scene.context.theme;
  const Rect rect = scene.row_rect(row_index);
  const float size = std::min(error->broken ? kErrorSize * 1.2f : kSmallSize, rect.height() / scene.px(1));
  if (size < kSmallSize * 0.8f) return;
  const TextStyle style =
      scene.text(scene.context.fonts.mono, size, error->broken ? theme.text : theme.agreement);
  const float middle = std::clamp((rect.min.y + rect.max.y) / 2, scene.view.min.y + style.size,
                                  std::max(scene.view.min.y + style.size, scene.view.max.y - style.size));
  draw_text(list, {rect.min.x + scene.measure.gutter - scene.px(12), middle - style.size / 2}, style,
            relative_error_text(error->relative_error), Align::Right);
}

void draw_errors_head(const Scene& scene, ImDrawList* list, Rect room) {
  if (!scene.seen || scene.seen->side() == BreakSide::Sound) return;
  const TextStyle style = scene.text(scene.context.fonts.body, kSmallSize, scene.context.theme.dim);
  draw_text(list,
            {room.min.x + scene.measure.gutter - scene.px(12),
             (room.min.y + room.max.y) / 2 - style.size * 0.56f},
            style, "error", Align::Right);
}

void draw_unequal(const Scene& scene, ImDrawList* list, size_t row_index) {
  const Row& row = scene.rows[row_index];
  if (!scene.is_wrong(row)) return;
  const Rect rect = scene.row_rect(row_index);
  const float size = std::min(kUnequalSize, rect.height() / scene.px(1.2f));
  if (size < 9) return;
  const Theme& theme = scene.context.theme;
  const TextStyle style = scene.text(scene.context.fonts.bold, size, theme.text);
  const Rect lanes = scene.lanes_view();
  list->PushClipRect(lanes.min, lanes.max, true);
  for (size_t i = 0; i + 1 < scene.lanes.size(); ++i) {
    const Lane &here = scene.lanes[i], &next = scene.lanes[i + 1];
    if (!scene.seen->differ(row.tensor, here.last, next.first)) continue;
    const Rect ghost = ghost_of(scene.program().tensor(row.tensor), scene.largest,
                                scene.tensor_room(scene.cell(row_index, here)));
    const bool has_weight = row.matrix != kNoTensor || row.vector != kNoTensor;
    const Rect beside = scene.cell(row_index, next);
    const float end = has_weight ? beside.min.x : scene.tensor_room(beside).min.x;
    const float x = (ghost.max.x + end) / 2, y = (rect.min.y + rect.max.y) / 2;
    const float width = text_width(style, "≠");
    if (end - ghost.max.x < width)  // the tensors leave no room: on a plate of its own
      fill_rect(list, {x - width * 0.7f, y - style.size * 0.5f}, {x + width * 0.7f, y + style.size * 0.5f},
                theme.window, scene.px(4));
    draw_text(list, {x, y - style.size * 0.56f}, style, "≠", Align::Centre);
  }
  list->PopClipRect();
}

void draw_left_out(const Scene& scene, ImDrawList* list, size_t row_index) {
  const Theme& theme = scene.context.theme;
  const Row& row = scene.rows[row_index];
  const Step& sound = *scene.seen->left_out(row.step);
  const Rect rect = scene.row_rect(row_index);
  const float gutter = rect.min.x + scene.measure.gutter;
  const ImVec2 min(std::floor(gutter), std::floor(rect.min.y)),
      max(std::floor(rect.max.x - scene.px(8)), std::floor(rect.max.y));
  const ImU32 amber = scene.ink(theme.communication);
  draw_dashed_rect(list, {min.x + 0.5f, min.y + 0.5f}, {max.x - 0.5f, max.y - 0.5f}, amber,
                   std::max(1.0f, scene.px(1.5f)), scene.px(5));
  const Rect lanes = scene.lanes_view();
  list->PushClipRect({lanes.min.x, lanes.min.y}, lanes.max, true);
  const float reach = std::min(scene.px(6), rect.height() / 5);
  for (const Lane& lane : scene.lanes)
    draw_arrow(scene, list, middle_of_tensor(scene, row_index, lane, row.tensor), min.y - reach, max.y + reach,
               lane.first);
  list->PopClipRect();

  // The words stand on a plate, so that no arrow crosses them. The first of these that fits.
  const LeftOutWords words = left_out_words(scene, row, sound);
  const float size = std::min(kLeftOutSize, rect.height() * 0.62f / scene.px(1));
  const TextStyle strong = scene.text(scene.context.fonts.bold, size, theme.communication);
  const TextStyle body = scene.text(scene.context.fonts.body, std::min(size, kBodySize), theme.text);
  if (strong.size < 8) return;
  const std::string what = "left out";
  const float gap = scene.px(24), room = max.x - min.x - scene.px(24);
  for (const auto& [before, after] : {std::pair{words.title, words.sent}, std::pair{words.title, std::string()},
                                      std::pair{std::string(), std::string()}}) {
    const float left = before.empty() ? 0 : text_width(body, before) + gap;
    const float right = after.empty() ? 0 : text_width(body, after) + gap;
    const float width = left + text_width(strong, what) + right;
    if (width > room && !before.empty()) continue;
    float x = std::round((min.x + max.x - width) / 2);
    const float middle = (min.y + max.y) / 2;
    fill_rect(list, {x - scene.px(10), min.y + scene.px(3)}, {x + width + scene.px(10), max.y - scene.px(3)},
              scene.selected(row) ? mixed(theme.window, theme.forward, 0.13f) : theme.window);
    if (!before.empty()) draw_text(list, {x, middle - body.size * 0.56f}, body, before);
    x += left;
    draw_text(list, {x, middle - strong.size * 0.56f}, strong, what);
    x += text_width(strong, what) + gap;
    if (!after.empty()) draw_text(list, {x, middle - body.size * 0.56f}, body, after);
    break;
  }

  // Its letter, struck out.
  const std::string letter = letter_of(sound.conjugate);
  if (letter.empty()) return;
  const TextStyle italic = scene.text(scene.context.fonts.italic, 20, theme.communication);
  const float x = gutter - scene.px(18), middle = (min.y + max.y) / 2;
  draw_text(list, {x, middle - italic.size * 0.56f}, italic, letter, Align::Centre);
  ui::draw_line(list, {x - scene.px(10), middle + scene.px(1)}, {x + scene.px(10), middle + scene.px(1)},
            scene.ink(theme.text), std::max(1.5f, scene.px(2)));
}

}  // namespace shardlens::ui::stage
