// The map: the whole recording in one strip, all ranks together, and a window at the part that is shown. A
// drag moves the window, a drag at its edge resizes it, a click beside it moves it there.
#include <imgui.h>

#include <cmath>

#include "engine/runtime/recordings/history_reader.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "ui/panels/timeline/history.h"
#include "ui/panels/timeline/history_view.h"
#include "ui/widgets/stretch.h"
#include "ui/widgets/within.h"

namespace shardlens::ui {
namespace {

constexpr float kReach = 5;        // pixels of an edge
constexpr float kLeastWindow = 6;  // pixels that the shown part has at least
constexpr double kMapPixels = 4;   // of a column

struct Map {
  ImVec2 min, max;
  Stretch all, shown;
  float x(double seconds) const {
    return min.x + static_cast<float>((seconds - all.begin) / all.size()) * (max.x - min.x);
  }
  double seconds(float x_pixels) const {
    return all.begin + static_cast<double>((x_pixels - min.x) / (max.x - min.x)) * all.size();
  }
  /// The shown part on the screen; wide enough to be dragged.
  float left() const { return std::min(x(shown.begin), middle() - least() / 2); }
  float right() const { return std::max(x(shown.end), middle() + least() / 2); }
  float middle() const { return x((shown.begin + shown.end) / 2); }
  float least() const { return kLeastWindow; }
};

void drag(const Context& context, const Map& map) {
  const ImGuiIO& io = ImGui::GetIO();
  HistoryView& view = context.view.of<HistoryView>();
  MapGrip& grip = view.map_grip;
  ImGui::SetCursorScreenPos(map.min);
  ImGui::InvisibleButton("map", {map.max.x - map.min.x, map.max.y - map.min.y});
  const bool hovered = ImGui::IsItemHovered() && !context.view.covered();
  const float mouse = io.MousePos.x, reach = context.px(kReach);
  const auto grip_under = [&] {
    if (std::abs(mouse - map.left()) <= reach && map.shown.begin > map.all.begin) return MapGrip::Begin;
    if (std::abs(mouse - map.right()) <= reach && map.shown.end < map.all.end) return MapGrip::End;
    return MapGrip::Window;
  };
  const bool whole = map.shown == map.all;
  if (ImGui::IsItemActivated()) {
    grip = grip_under();
    const bool beside = mouse < map.left() - reach || mouse > map.right() + reach;
    if (grip == MapGrip::Window && beside) {
      const double begin = map.seconds(mouse) - map.shown.size() / 2;
      view.shown = clamped({begin, begin + map.shown.size()}, map.all);
    }
  }
  if (!ImGui::IsItemActive() && !hovered) return;
  const MapGrip shown_grip = ImGui::IsItemActive() ? grip : grip_under();
  if (!whole || shown_grip != MapGrip::Window)
    ImGui::SetMouseCursor(shown_grip == MapGrip::Window ? ImGuiMouseCursor_Hand : ImGuiMouseCursor_ResizeEW);
  if (!ImGui::IsItemActive() || ImGui::IsItemActivated() || io.MouseDelta.x == 0) return;
  Stretch moved = shown_of(view, context.history);
  const double by = static_cast<double>(io.MouseDelta.x / (map.max.x - map.min.x)) * map.all.size();
  const double at = map.seconds(mouse);
  if (grip == MapGrip::Begin) moved.begin = within(at, map.all.begin, moved.end - kSmallestStretchSeconds);
  if (grip == MapGrip::End) moved.end = within(at, moved.begin + kSmallestStretchSeconds, map.all.end);
  if (grip == MapGrip::Window) moved = clamped({moved.begin + by, moved.end + by}, map.all);
  view.shown = moved;
}

}  // namespace

void draw_history_map(const Context& context, ImVec2 min, ImVec2 max) {
  const HistorySnapshot& history = context.history;
  const Theme& theme = context.theme;
  const Map map{min, max, axis_of(history), shown_of(context.view.of<HistoryView>(), history)};
  ImDrawList* list = ImGui::GetWindowDrawList();
  fill_rect(list, min, max, theme.card);
  if (history.whole) {
    const double pixel_seconds = map.all.size() / (max.x - min.x);
    std::vector<PlainRect> rects;
    const TimeColumns columns =
        columns_of_all(*history.whole, 0, history.end_ns, column_ns(pixel_seconds, kMapPixels));
    add_bands(
        rects, columns,
        {.zero_ns = 0,
         .pixels_per_ns = 1e-9 / pixel_seconds,
         .zero = min.x,
         .left = min.x,
         .right = max.x,
         .top = std::round(min.y),
         .height = static_cast<int>(max.y - min.y),
         .colours = {mixed(theme.panel, theme.forward, 0.45f), mixed(theme.panel, theme.backward, 0.45f),
                     faded(theme.communication, 0.7f), faded(theme.communication, 0.2f)}});
    fill_rects(list, rects);
  }
  const float left = std::max(min.x, map.left()), right = std::min(max.x, map.right());
  const ImU32 dimmed = faded(theme.panel, 0.5f);
  fill_rect(list, min, {left, max.y}, dimmed);
  fill_rect(list, {right, min.y}, max, dimmed);
  outline_rect(list, {left, min.y}, {right, max.y}, theme.text, context.px(2), context.px(1.5f));
  if (context.replay.notes)
    for (const ReplayNote& note : *context.replay.notes) {
      const float x = std::round(map.x(note.note.seconds));
      fill_triangle(list, {x, min.y}, {x + context.px(7), min.y + context.px(4)}, {x, min.y + context.px(8)},
                    theme.text);
      draw_line(list, {x, min.y}, {x, max.y}, theme.text, std::max(1.0f, context.px(1)));
    }
  if (context.replay.is_open()) {
    const float x = std::round(map.x(context.replay.seconds));
    draw_line(list, {x, min.y - context.px(2)}, {x, max.y + context.px(2)}, theme.text,
              std::max(1.0f, context.px(2)));
  }
  drag(context, map);
}

}  // namespace shardlens::ui
