// Draws everything of a row except its tensors: the text in the gutter, the background of the selected row,
// bands with their text, dotted lines for f and g where they do nothing, headings, and the heads of the
// lanes.
#include <fmt/format.h>
#include <icons_font_awesome_4.h>

#include <algorithm>
#include <cmath>

#include "engine/runtime/snapshot.h"
#include "ui/panels/faults/faults.h"
#include "ui/stage/meeting.h"
#include "ui/stage/plan_change.h"
#include "ui/stage/scene.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"
#include "ui/widgets/within.h"

namespace shardlens::ui::stage {
namespace {

constexpr float kEquationSize = 15;
constexpr float kLeastTextPixels = 11;
constexpr float kLeastEquation = 0.84f;  ///< of its size, where it is too long
constexpr float kNoteSize = kSmallSize;
constexpr const char* kInside = "inside " ICON_FA_CHEVRON_RIGHT;

void draw_dots(ImDrawList* list, float from, float to, float y, ImU32 colour, float dot) {
  const float size = std::max(1.0f, std::round(dot));
  for (float x = from; x < to; x += size * 4) {
    fill_rect(list, {x, y}, {x + size, y + size}, colour);
  }
}

void draw_letter(const Scene& scene, ImDrawList* list, const Rect& row, Conjugate conjugate, ImU32 colour) {
  const std::string letter = letter_of(conjugate);
  if (letter.empty()) return;
  const TextStyle style = scene.text(scene.context.fonts.italic, 20, colour);
  const float x = scene.view.min.x + scene.measure.gutter - scene.px(18);
  draw_text(list, {x, (row.min.y + row.max.y) / 2 - style.size * 0.56f}, style, letter, Align::Centre);
}

// Returns the layout's word and the shape. If they do not fit, first the shape loses its spaces, then it
// goes: a word in part says less.
std::string layout_words(const Tensor& tensor, const TextStyle& style, float width) {
  const std::string word = to_string(tensor.layout);
  std::string shape = " " + to_string(tensor.shape);
  if (text_width(style, word + shape) <= width) return word + shape;
  std::erase(shape, ' ');
  shape.insert(0, " ");
  return text_width(style, word + shape) <= width ? word + shape : fitted(style, word, width);
}

// Returns the lane's ranks ("ranks 2–3", "2–3"), and which of them was lost or failed. If there is little
// room, only the latter.
std::string lane_title(const Lane& lane, const RunFailure* failure, const TextStyle& style, float width) {
  const std::string whose =
      lane.group() ? fmt::format("ranks {}–{}", lane.first, lane.last) : fmt::format("rank {}", lane.first);
  std::vector<std::string> struck;
  for (int rank = lane.first; failure != nullptr && rank <= lane.last; ++rank)
    if (is_struck(*failure, rank)) struck.push_back(fmt::format("{}", rank));
  if (struck.empty())
    return text_width(style, whose) <= width ? whose
                                             : fitted(style, whose.substr(whose.find(' ') + 1), width);
  const char* what = failure->lost ? "lost" : "failed";
  const std::string ranks = fmt::format("{} {}", fmt::join(struck, ", "), what);
  const std::string whole = ICON_FA_UNLINK "  " + (lane.group() ? whose + ", " + ranks : whose + " " + what);
  if (text_width(style, whole) <= width) return whole;
  return fitted(style, ICON_FA_UNLINK " " + ranks, width);
}

// Returns the longest form of the band's text that fits.
std::string sentence(const Scene& scene, const Row& row, const TextStyle& style, float width) {
  const Step& step = scene.program().step(row.step);
  const Progress progress = scene.progress(row.step);
  const Result* measured = progress == Progress::Done ? scene.result.get() : nullptr;
  const std::string before = progress == Progress::Next ? "next step: " : "";
  std::string whole;
  for (const std::string& form : band_forms(
           scene.program(), step, meeting_of(*scene.plan, measured, row.step), kept_back(scene.context))) {
    whole = before + form;
    if (text_width(style, whole) <= width) break;
  }
  return fitted(style, whole, width);
}

// True if the last change of the settings brought the row's step.
bool is_new(const Scene& scene, const Row& row) {
  const auto& view = scene.context.view.of<ChangeView>();
  const auto step = static_cast<size_t>(row.step);
  return row.step >= 0 && view.plan == scene.plan && step < view.change.came.size() && view.change.came[step];
}

}  // namespace

void draw_row_ground(const Scene& scene, ImDrawList* list, size_t row_index) {
  const Row& row = scene.rows[row_index];
  const Rect rect = scene.row_rect(row_index);
  if (is_new(scene, row)) {
    const TextStyle plus = scene.text(scene.context.fonts.bold, kBodySize, scene.context.theme.forward);
    draw_text(list, {rect.min.x + scene.measure.pad / 2, (rect.min.y + rect.max.y - plus.size) / 2}, plus,
              "+", Align::Centre);
  }
  if (!scene.selected(row)) return;
  const float away = std::min(scene.px(2), scene.px(kRowGap) / 2);
  const ImU32 accent = scene.context.theme.forward;
  const ImVec2 min(rect.min.x + scene.px(4), rect.min.y - away),
      max(rect.max.x - scene.px(2), rect.max.y + away);
  fill_rect(list, min, max, scene.ink(mixed(scene.context.theme.window, accent, 0.13f)));
  fill_rect(list, min, {min.x + scene.px(3), max.y}, scene.ink(accent));
}

void draw_gutter(const Scene& scene, ImDrawList* list, size_t row_index) {
  const Theme& theme = scene.context.theme;
  const Fonts& fonts = scene.context.fonts;
  const Row& row = scene.rows[row_index];
  const Rect rect = scene.row_rect(row_index);
  const Progress progress = scene.progress(row.step);
  const bool ahead = progress == Progress::Ahead;
  const float left = rect.min.x + scene.measure.pad,
              right = rect.min.x + scene.measure.gutter - errors_width(scene) - scene.px(8);
  const float edge = std::max(2.0f, std::round(scene.px(2)));
  const ImU32 tint = scene.phase_colour(row.phase);
  if (scene.is_wrong(row))
    draw_torn_edge(scene, list, rect, tint);
  else
    fill_rect(list, {left, rect.min.y}, {left + edge, rect.max.y},
              scene.ink(ahead ? faded(tint, 0.35f) : tint));

  const Tensor& tensor = scene.program().tensor(row.tensor);
  const float least =
      kLeastTextPixels / scene.px(1);  // also in lecture mode: rows that are fitted keep a name
  const float equation_size = within(rect.height() / scene.px(1), least, kEquationSize);
  TextStyle equation = scene.text(fonts.mono, equation_size, ahead ? theme.dim : theme.text);
  const TextStyle note = scene.text(fonts.body, kNoteSize, theme.dim);
  const bool partial = tensor.layout.kind == LayoutKind::Partial;
  const TextStyle layout =
      scene.text(partial ? fonts.bold : fonts.body, kNoteSize, partial ? theme.communication : theme.dim);

  // Draws as many of the three lines as the row has room for. In a row taller than the view they stay
  // visible.
  const float line = std::round(scene.px(16));
  const float visible_top = std::max(rect.min.y, scene.view.min.y),
              visible_bottom = std::min(rect.max.y, scene.view.max.y);
  const float height = visible_bottom - visible_top;
  const bool whole = rect.height() <= scene.view.height();
  const float room = whole ? rect.height() : height;
  const bool low = room < line;
  const int lines =
      low ? (room >= kLeastTextPixels) : std::min(3, static_cast<int>((room + scene.px(1)) / line));
  if (lines == 0) return;
  const float middle = whole ? (rect.min.y + rect.max.y) / 2 : (visible_top + visible_bottom) / 2;
  float y = low ? middle - equation.size / 2 : middle - line * static_cast<float>(lines) / 2;
  const float x = left + edge + scene.px(8), width = right - x;
  // An equation that is a little too long gets smaller letters, and no end that is missing.
  if (const float needed = text_width(equation, row.title); needed > width)
    equation.size = std::max(equation.size * width / needed, equation.size * kLeastEquation);
  draw_text(list, {x, y}, equation, fitted(equation, row.title, width));
  y += line;
  if (lines >= 3) {
    if (progress == Progress::Next) {
      const TextStyle next = scene.text(fonts.body, kNoteSize, tint);
      draw_text(list, {x, y}, next, fitted(next, "next step: " + row.note, width));
    } else {
      draw_text(list, {x, y}, note, fitted(note, row.note, width));
    }
    y += line;
  }
  if (lines < 2) return;
  // What each rank keeps without the collective is only called Replicated.
  if (row.kind == RowKind::Kept)
    draw_text(list, {x, y}, note, fitted(note, "taken for " + to_string(tensor.layout), width));
  else
    draw_text(list, {x, y}, layout, layout_words(tensor, layout, width));
}

Rect band_button(const Scene& scene, size_t row_index) {
  const Rect rect = scene.row_rect(row_index);
  const TextStyle style = scene.text(scene.context.fonts.body, kSmallSize, 0);
  const float right = rect.max.x - scene.px(8), width = text_width(style, kInside) + scene.px(20);
  if (right - (rect.min.x + scene.measure.gutter) < 4 * width)
    return {{right, rect.min.y}, {right, rect.max.y}};
  return {{right - width, rect.min.y}, {right, rect.max.y}};
}

void draw_band(const Scene& scene, ImDrawList* list, size_t row_index) {
  const Theme& theme = scene.context.theme;
  const Row& row = scene.rows[row_index];
  const Rect rect = scene.row_rect(row_index);
  const Progress progress = scene.progress(row.step);
  const bool selected = scene.selected(row);
  const float left = rect.min.x + scene.measure.gutter, right = rect.max.x - scene.px(8);
  const ImVec2 min(std::floor(left), std::floor(rect.min.y)), max(std::floor(right), std::floor(rect.max.y));
  const ImU32 colour = progress == Progress::Next ? scene.phase_colour(row.phase) : theme.communication;
  const ImU32 ink = scene.ink(progress == Progress::Ahead ? faded(colour, 0.55f) : colour);
  const float rounding = std::min(scene.px(6), rect.height() / 3);
  if (progress == Progress::Done) {
    fill_rect(list, min, max, scene.ink(mixed(theme.window, theme.communication, selected ? 0.32f : 0.17f)),
              rounding);
    outline_rect(list, min, max, ink, rounding, std::max(1.0f, scene.px(selected ? 2 : 1.5f)));
  } else {
    draw_dashed_rect(list, {min.x + 0.5f, min.y + 0.5f}, {max.x - 0.5f, max.y - 0.5f}, ink,
                     std::max(1.0f, scene.px(1.5f)), scene.px(5));
  }

  const TextStyle style =
      scene.text(selected ? scene.context.fonts.bold : scene.context.fonts.body, kBodySize,
                 progress == Progress::Done   ? theme.text
                 : progress == Progress::Next ? colour
                                              : theme.dim);
  if (rect.height() >= style.size * 0.9f) {
    // The words stand in the middle of the band, clear of the button at its right end.
    const Rect button = band_button(scene, row_index);
    const float beside = button.width();
    const std::string words = sentence(scene, row, style, max.x - min.x - 2 * beside - scene.px(16));
    draw_text(list, {(min.x + max.x) / 2, (min.y + max.y) / 2 - style.size * 0.56f}, style, words,
              Align::Centre);
    const TextStyle inside =
        scene.text(scene.context.fonts.body, kSmallSize, selected ? theme.text : theme.dim);
    if (beside > 0)
      draw_text(list, {button.max.x - scene.px(10), (min.y + max.y) / 2 - inside.size * 0.56f}, inside,
                kInside, Align::Right);
  }

  // A tick for every rank above and below the band, because all ranks take part in the collective.
  if (progress == Progress::Done) {
    const float length = std::min(scene.px(5), rect.height() / 5),
                width = std::max(2.0f, std::round(scene.px(3)));
    const float inside = rect.height() < scene.px(26) ? 1 : length;  // a low band has no room beside its text
    for (const Lane& lane : scene.lanes) {
      for (int rank = lane.first; rank <= lane.last; ++rank) {
        const float part =
            (static_cast<float>(rank - lane.first) + 0.5f) / static_cast<float>(lane.last - lane.first + 1);
        const float x = std::round(scene.lane_left(lane) + lane.width * part - width / 2);
        if (x < min.x || x > max.x) continue;
        const ImU32 tick = scene.ink(theme.rank_outlines[rank % 8]);
        fill_rect(list, {x, min.y - length}, {x + width, min.y + inside}, tick);
        fill_rect(list, {x, max.y - inside}, {x + width, max.y + length}, tick);
      }
    }
  }
  draw_letter(scene, list, rect, scene.program().step(row.step).conjugate, ink);
}

Rect why_button(const Scene& scene, size_t row_index) {
  const Rect rect = scene.row_rect(row_index);
  const float side = scene.px(16);
  const ImVec2 middle(scene.view.min.x + scene.measure.gutter - errors_width(scene) - scene.px(18),
                      rect.max.y + scene.px(kRowGap) / 2);
  const Row& row = scene.rows[row_index];
  const auto is_bright = [&] {  // the row that it hands over to is there, and lit too
    return !scene.dimming.rows || (row.lit && scene.rows[row_index + 1].lit);
  };
  const bool is_there = scene.interactive && row.hands_over && rect.height() >= 2 * side && is_bright();
  if (!is_there) return {middle, middle};
  return {{middle.x - side / 2, middle.y - side / 2}, {middle.x + side / 2, middle.y + side / 2}};
}

void draw_why(const Scene& scene, ImDrawList* list, size_t row_index) {
  const Rect button = why_button(scene, row_index);
  if (button.width() <= 0) return;
  const Theme& theme = scene.context.theme;
  const bool asked = scene.selected(scene.rows[row_index]);
  const float round = button.width() / 2;
  fill_rect(list, button.min, button.max, scene.ink(theme.window), round);
  outline_rect(list, button.min, button.max, scene.ink(asked ? theme.text : theme.faint), round);
  const TextStyle style = scene.text(scene.context.fonts.body, 12, asked ? theme.text : theme.dim);
  draw_text(list, {(button.min.x + button.max.x) / 2, (button.min.y + button.max.y) / 2 - style.size * 0.56f},
            style, "?", Align::Centre);
}

void draw_line(const Scene& scene, ImDrawList* list, size_t row_index) {
  const Theme& theme = scene.context.theme;
  const Row& row = scene.rows[row_index];
  const Step& step = scene.program().step(row.step);
  const Rect rect = scene.row_rect(row_index);
  const bool selected = scene.selected(row);
  const float left = rect.min.x + scene.measure.gutter, right = rect.max.x - scene.px(8);
  const float middle = std::round((rect.min.y + rect.max.y) / 2);
  const bool next = scene.progress(row.step) == Progress::Next;
  const ImU32 words_colour = next ? scene.phase_colour(row.phase) : selected ? theme.text : theme.dim;
  const TextStyle style = scene.text(scene.context.fonts.body, kSmallSize, words_colour);
  std::string words = line_sentence(scene.program(), step);
  if (next) words = "next step: " + words;
  const float room = right - left - scene.px(24);
  if (text_width(style, words) > room) words.resize(std::min(words.find(", "), words.size()));
  words = fitted(style, words, room);
  const bool legible = rect.height() >= style.size * 0.9f;
  const float half = legible ? text_width(style, words) / 2 + scene.px(10) : 0;
  const float centre = (left + right) / 2;
  const ImU32 ink = scene.ink(theme.faint);
  if (step.op == Op::Slice) {
    fill_rect(list, {left, middle}, {centre - half, middle + 1}, ink);
    fill_rect(list, {centre + half, middle}, {right, middle + 1}, ink);
  } else {
    draw_dots(list, left, centre - half, middle, ink, scene.px(1.5f));
    draw_dots(list, centre + half, right, middle, ink, scene.px(1.5f));
  }
  if (legible) draw_text(list, {centre, middle - style.size * 0.56f}, style, words, Align::Centre);
  draw_letter(scene, list, rect, step.conjugate, scene.ink(theme.dim));
}

void draw_divider(const Scene& scene, ImDrawList* list, size_t row_index) {
  const Theme& theme = scene.context.theme;
  const Row& row = scene.rows[row_index];
  const Rect rect = scene.row_rect(row_index);
  const float middle = std::round((rect.min.y + rect.max.y) / 2);
  const float left = rect.min.x + scene.measure.pad, right = rect.max.x - scene.px(8);
  const bool heading = row.kind == RowKind::Heading;
  const ImU32 colour = heading ? theme.dim : scene.phase_colour(row.phase);
  const TextStyle style = scene.text(scene.context.fonts.bold,
                                     std::clamp(rect.height() / scene.px(1), 11.0f, kSmallSize), colour);
  const bool legible = rect.height() >= style.size * 0.9f;
  const float gap = scene.px(8), width = text_width(style, row.title);
  const ImU32 ink = scene.ink(theme.line);
  if (heading) {
    const float begin = legible ? left + width + gap : left;
    fill_rect(list, {begin, middle}, {right, middle + 1}, ink);
    if (legible) draw_text(list, {left, middle - style.size * 0.56f}, style, row.title);
    return;
  }
  const float centre = (left + right) / 2, half = legible ? width / 2 + gap : 0;
  fill_rect(list, {left, middle}, {centre - half, middle + 1}, ink);
  fill_rect(list, {centre + half, middle}, {right, middle + 1}, ink);
  if (legible) draw_text(list, {centre, middle - style.size * 0.56f}, style, row.title, Align::Centre);
}

std::optional<Rect> lane_head(const Scene& scene, const Lane& lane, const Rect& room) {
  const float left = std::max(scene.lane_left(lane), room.min.x + scene.measure.gutter);
  const float right = std::min(scene.lane_left(lane) + lane.width, room.max.x);
  if (right - left < scene.px(8)) return std::nullopt;
  return Rect{{left, room.min.y + scene.px(4)}, {right, room.max.y - scene.px(4)}};
}

void draw_lane_heads(const Scene& scene, ImDrawList* list, Rect room) {
  const Theme& theme = scene.context.theme;
  const Fonts& fonts = scene.context.fonts;
  const Rect lanes = {{room.min.x + scene.measure.gutter, room.min.y}, room.max};
  const RunFailure* const failure = shown_failure(scene.context.snapshot);
  list->PushClipRect(lanes.min, lanes.max, true);
  for (const Lane& lane : scene.lanes) {
    const std::optional<Rect> head = lane_head(scene, lane, room);
    if (!head) continue;
    const ImVec2 min = head->min, max = head->max;
    fill_rect(list, min, max, scene.ink(theme.panel), scene.px(3));
    // A lane for several ranks shows the colours of all of them.
    const int count = lane.last - lane.first + 1;
    const float bar = std::round(scene.px(4));
    for (int i = 0; i < count; ++i) {
      const float share = (max.y - min.y) / static_cast<float>(count);
      fill_rect(list, {min.x, min.y + share * static_cast<float>(i)},
                {min.x + bar, min.y + share * static_cast<float>(i + 1)},
                scene.ink(theme.ranks[(lane.first + i) % 8]));
    }
    const TextStyle name = scene.text(fonts.bold, kBodySize, theme.text);
    const TextStyle dim = scene.text(fonts.body, kSmallSize, theme.dim);
    const float x = min.x + bar + scene.px(8), middle = (min.y + max.y) / 2;
    const std::string title = lane_title(lane, failure, name, max.x - x - scene.px(4));
    if (title.starts_with(ICON_FA_UNLINK))
      outline_rect(list, min, max, theme.text, scene.px(3), std::max(1.0f, scene.px(2)));
    else if (!lane.group() && scene.context.view.selected_rank == lane.first)
      outline_rect(list, min, max, theme.forward, scene.px(3), std::max(1.0f, scene.px(1.5f)));
    draw_text(list, {x, middle - name.size * 0.56f}, name, title);
    std::string aside;
    if (lane.group()) {
      aside = "alike";
    } else if (static_cast<size_t>(lane.first) < scene.plan->memory.size()) {
      aside = bytes_text(
          static_cast<double>(total_bytes(scene.plan->memory[static_cast<size_t>(lane.first)].arena_bytes)));
    }
    if (x + text_width(name, title) + scene.px(16) + text_width(dim, aside) <= max.x) {
      draw_text(list, {max.x - scene.px(8), middle - dim.size * 0.56f}, dim, aside, Align::Right);
    }
    const bool hovered =
        ImGui::IsWindowHovered(ImGuiHoveredFlags_ChildWindows) && ImGui::IsMouseHoveringRect(min, max);
    if (hovered && !aside.empty())
      show_tooltip(
          scene.context,
          lane.group()
              ? "These ranks hold shards of the same shapes: drawn once"
              : aside + " that this rank holds; the Memory tab lists them. Click to select the rank");
  }
  list->PopClipRect();
}

}  // namespace shardlens::ui::stage
