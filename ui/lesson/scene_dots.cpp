// Draws the scenes of a lesson as a row of dots.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

#include "engine/lesson/lesson_session.h"
#include "ui/lesson/card_parts.h"
#include "ui/lesson/lesson_view.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {

void draw_scene_dots(const Context& c, ImVec2 left_middle, float pitch) {
  auto& view = c.view.of<LessonView>();
  const auto& seen = view.progress[lesson_key(c.lesson)].seen;
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (int scene = 0; scene < static_cast<int>(c.lesson.scenes.size()); ++scene) {
    const bool shown = scene == view.scene;
    const float radius = std::min(shown ? c.px(5) : c.px(3.5f), pitch / 2);
    const float left = left_middle.x + pitch * static_cast<float>(scene);
    const ImVec2 middle{left + pitch / 2, left_middle.y};
    ImGui::SetCursorScreenPos({left, middle.y - c.px(10)});
    if (click_area(fmt::format("dot {}", scene + 1).c_str(), {pitch, c.px(20)})) show_scene(c, scene);
    tooltip(c, fmt::format("{}. {}", scene + 1, c.lesson.lesson->scenes[static_cast<size_t>(scene)].title));
    const ImVec2 min{middle.x - radius, middle.y - radius}, max{middle.x + radius, middle.y + radius};
    if (shown || seen.contains(scene))
      fill_rect(list, min, max, shown ? c.theme.forward : c.theme.dim, radius);
    else
      outline_rect(list, min, max, c.theme.dim, radius, std::max(1.0f, c.px(1)));
  }
}

}  // namespace shardlens::ui
