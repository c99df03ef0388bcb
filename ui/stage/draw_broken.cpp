// Draws what a planted mistake does to the rows: the torn edge and the error of a wrong tensor, "≠" between
// copies that should be equal, and the band of a collective that is left out.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/runtime/snapshot.h"
#include "ui/stage/meeting.h"
#include "ui/stage/scene.h"
#include "ui/widgets/format.h"
#include "ui/widgets/within.h"

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
  fill_triangle(list, {x - head, bottom - 1.6f * head}, {x + head, bottom - 1.6f * head}, {x, bottom},
                colour);
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

/// Writes the words between the arrows: all of them in the middle gap, or one in each of three gaps, or only
/// that the collective is left out.
void draw_left_out_words(const Scene& scene, ImDrawList* list, const LeftOutWords& words,
                         const std::vector<float>& edges, const Rect& rect) {
  const Theme& theme = scene.context.theme;
  const char* const what = "left out";
  const float size = std::min(kLeftOutSize, rect.height() * 0.62f / scene.px(1));
  if (size < 8) return;
  const TextStyle strong = scene.text(scene.context.fonts.bold, size, theme.communication);
  const TextStyle body = scene.text(scene.context.fonts.body, std::min(size, kBodySize), theme.text);
  const float y = (rect.min.y + rect.max.y) / 2, pad = scene.px(12), between = scene.px(20);
  const auto room = [&](size_t gap) { return edges[gap + 1] - edges[gap] - 2 * pad; };
  const auto middle = [&](size_t gap) { return (edges[gap] + edges[gap + 1]) / 2; };
  // The widest gap, and of those that are about as wide the one nearest to the middle.
  const float centre = (edges.front() + edges.back()) / 2;
  size_t main = 0;
  for (size_t gap = 1; gap + 1 < edges.size(); ++gap) {
    const bool wider = room(gap) > room(main) * 1.1f, similar = room(gap) > room(main) * 0.9f;
    if (wider || (similar && std::abs(middle(gap) - centre) < std::abs(middle(main) - centre))) main = gap;
  }
  const float title = text_width(body, words.title), sent = text_width(body, words.sent);
  const float all = title + between + text_width(strong, what) + between + sent;
  const auto write = [&](const TextStyle& style, float x, const std::string& text, Align align) {
    draw_text(list, {x, y - style.size * 0.56f}, style, text, align);
  };
  if (all <= room(main)) {
    const float left = middle(main) - all / 2;
    write(body, left, words.title, Align::Left);
    write(strong, left + title + between, what, Align::Left);
    write(body, left + all, words.sent, Align::Right);
    return;
  }
  if (text_width(strong, what) <= room(main)) write(strong, middle(main), what, Align::Centre);
  if (main > 0 && title <= room(main - 1)) write(body, middle(main - 1), words.title, Align::Centre);
  if (main + 2 < edges.size() && sent <= room(main + 1))
    write(body, middle(main + 1), words.sent, Align::Centre);
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
  // At the edge of the view the figure stays whole, if enough of its row is seen to tell whose it is.
  const float seen = std::min(rect.max.y, scene.view.max.y) - std::max(rect.min.y, scene.view.min.y);
  if (seen < std::min(2 * style.size, rect.height())) return;
  const float middle = within((rect.min.y + rect.max.y) / 2, scene.view.min.y + style.size,
                              std::max(scene.view.min.y + style.size, scene.view.max.y - style.size));
  draw_text(list, {rect.min.x + scene.measure.gutter - scene.px(12), middle - style.size / 2}, style,
            relative_error_text(error->relative_error), Align::Right);
}

void draw_errors_head(const Scene& scene, ImDrawList* list, Rect room) {
  if (!scene.seen || scene.seen->side() == BreakSide::Sound) return;
  const TextStyle style = scene.text(scene.context.fonts.body, kSmallSize, scene.context.theme.dim);
  draw_text(
      list,
      {room.min.x + scene.measure.gutter - scene.px(12), (room.min.y + room.max.y) / 2 - style.size * 0.56f},
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
  list->PushClipRect(lanes.min, lanes.max, true);
  const float reach = std::min(scene.px(6), rect.height() / 5);
  std::vector<float> edges{min.x};  // of the gaps between the arrows, which have room for words
  for (const Lane& lane : scene.lanes) {
    const float x = middle_of_tensor(scene, row_index, lane, row.tensor);
    draw_arrow(scene, list, x, min.y - reach, max.y + reach, lane.first);
    edges.push_back(within(x, min.x, max.x));
  }
  edges.push_back(max.x);
  list->PopClipRect();
  draw_left_out_words(scene, list, left_out_words(scene, row, sound), edges, rect);

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
