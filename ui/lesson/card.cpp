// The card of a lesson at the window's left: where one is, the scene's text and questions, and the ways on.
#include <fmt/format.h>
#include <icons_font_awesome_4.h>
#include <imgui.h>

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "engine/lesson/lesson_session.h"
#include "ui/commands/command_button.h"
#include "ui/frame/guarded.h"
#include "ui/lesson/card_parts.h"
#include "ui/lesson/lesson_view.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {
namespace {

constexpr float kCardWidth = 300, kMostOfWindow = 0.38f;
constexpr float kPadding = 16;
constexpr float kFoot = 56;

/// A dot a scene: seen, shown, and still to come. A click goes there.
void draw_dots(const Context& c, ImVec2 at, float width) {
  auto& view = c.view.of<LessonView>();
  const auto& seen = view.progress[lesson_key(c.lesson)].seen;
  const auto count = static_cast<int>(c.lesson.scenes.size());
  const float pitch = std::min(c.px(18), width / static_cast<float>(std::max(1, count)));
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (int scene = 0; scene < count; ++scene) {
    const bool shown = scene == view.scene;
    const float radius = std::min(shown ? c.px(5) : c.px(3.5f), pitch / 2);
    const ImVec2 middle{at.x + pitch * (static_cast<float>(scene) + 0.5f), at.y + c.px(8)};
    ImGui::SetCursorScreenPos({middle.x - pitch / 2, at.y});
    if (click_area(fmt::format("dot {}", scene + 1).c_str(), {pitch, c.px(16)})) show_scene(c, scene);
    tooltip(c, fmt::format("{}. {}", scene + 1, c.lesson.lesson->scenes[static_cast<size_t>(scene)].title));
    const ImVec2 min{middle.x - radius, middle.y - radius}, max{middle.x + radius, middle.y + radius};
    if (shown || seen.contains(scene))
      fill_rect(list, min, max, shown ? c.theme.forward : c.theme.dim, radius);
    else
      outline_rect(list, min, max, c.theme.dim, radius, std::max(1.0f, c.px(1)));
  }
}

/// The lesson's name, its scenes as dots, and the way out. In front of a class the Bar's place has them.
void draw_head(const Context& c, float width) {
  const TextStyle title{c.fonts.bold, std::round(c.px(kCardSmall)), c.theme.dim};
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float close = c.px(22);
  draw_text(ImGui::GetWindowDrawList(), {at.x, at.y + c.px(3)}, title,
            fitted(title, c.lesson.lesson->title, width - close - c.px(8)));
  ImGui::SetCursorScreenPos({at.x + width - close, at.y});
  if (click_area("close lesson", {close, close})) close_lesson(c);
  tooltip(c, "Close the lesson");
  draw_text(ImGui::GetWindowDrawList(), {at.x + width - close / 2, at.y + c.px(3)}, title, ICON_FA_TIMES,
            Align::Centre);
  draw_dots(c, {at.x, at.y + c.px(26)}, width);
  ImGui::SetCursorScreenPos({at.x, at.y + c.px(50)});
}

/// Says that the page shows something else than the scene, with the way back.
void draw_elsewhere(const Context& c, float width) {
  const auto& view = c.view.of<LessonView>();
  const auto shows = c.lesson.shows.find(view.shown_for);
  const bool answer = shows != c.lesson.shows.end() && shows->second != nullptr;
  if (!view.away && !answer) return;
  const char* const words =
      view.away ? "The page shows something else than this scene." : "The page shows what the answer means.";
  const TextStyle style{c.fonts.body, std::round(c.px(kCardSmall)), c.theme.dim};
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = draw_wrapped(ImGui::GetWindowDrawList(), at, style, words, width);
  ImGui::Dummy({width, height + c.px(4)});
  command_button(c, "lesson.again", "Back to the scene");
  ImGui::Dummy({0, c.px(4)});
}

void draw_scene(const Context& c, float width) {
  auto& view = c.view.of<LessonView>();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const auto wrapped = [&](const TextStyle& style, const std::string& words, float below) {
    const float height = draw_wrapped(list, ImGui::GetCursorScreenPos(), style, words, width);
    ImGui::Dummy({width, height + c.px(below)});
  };
  const TextStyle small{c.fonts.body, std::round(c.px(kCardSmall)), c.theme.dim};
  const TextStyle title{c.fonts.bold, std::round(c.px(kCardTitle)), c.theme.text};
  const MadeScene& made = c.lesson.scenes[static_cast<size_t>(view.scene)];
  wrapped(small, fmt::format("{} of {}", view.scene + 1, c.lesson.scenes.size()), 4);
  wrapped(title, c.lesson.lesson->scenes[static_cast<size_t>(view.scene)].title, 10);
  if (!made.problem.empty())
    return wrapped({c.fonts.body, std::round(c.px(kCardText)), c.theme.text},
                   "This scene cannot be shown. " + made.problem, 8);
  if (!made.shown)
    return wrapped(small, "Its plan is made, and run where the text has numbers of a run …", 8);
  draw_card_text(c, made.shown->text, width, c.theme.text);
  draw_elsewhere(c, width);
  if (is_class(c.view)) {
    if (const ShownQuestion* asked = asked_question(c)) draw_question(c, *asked, width);
  } else {
    for (const ShownQuestion& question : made.shown->questions) draw_question(c, question, width);
  }
  if (!view.notes) return;
  wrapped({c.fonts.bold, std::round(c.px(kCardSmall)), c.theme.dim}, "Notes", 4);
  if (made.shown->notes.empty()) return wrapped(small, "This scene has no notes.", 8);
  draw_card_text(c, made.shown->notes, width, c.theme.dim);
}

/// Back and on.
void draw_foot(const Context& c) {
  command_button(c, "lesson.back", ICON_FA_CHEVRON_LEFT "  Back", ButtonLook::Plain, "lesson back");
  ImGui::SameLine(0, c.px(8));
  command_button(c, "lesson.next", "Next  " ICON_FA_CHEVRON_RIGHT, ButtonLook::Accent, "lesson next");
}

void draw_content(const Context& c) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  if (!is_class(c.view)) draw_head(c, room.x);
  const float height = ImGui::GetContentRegionAvail().y - c.px(kFoot);
  // The text scrolls, and the ways on stay. A scene begins at its top.
  ImGui::BeginChild(fmt::format("scene {}", c.view.of<LessonView>().scene).c_str(), {0, height},
                    ImGuiChildFlags_NavFlattened);
  draw_scene(c, ImGui::GetContentRegionAvail().x - c.px(2));
  ImGui::EndChild();
  ImGui::Dummy({0, c.px(4)});
  draw_foot(c);
}

}  // namespace

float lesson_card_width(const Context& c) {
  return std::floor(std::min(c.px(kCardWidth), ImGui::GetMainViewport()->Size.x * kMostOfWindow));
}

void draw_lesson_card(const Context& c, float top) {
  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  const ImVec2 min{viewport.Pos.x, viewport.Pos.y + top};
  const ImVec2 size{c.view.of<LessonView>().card_width, viewport.Size.y - top};
  ImGui::SetNextWindowPos(min);
  ImGui::SetNextWindowSize(size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(c.px(kPadding), c.px(kPadding)));
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(c.px(8), 0));
  ImGui::PushStyleColor(ImGuiCol_WindowBg, c.theme.panel);
  ImGui::Begin("Lesson", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus);
  draw_guarded(c, draw_content);
  fill_rect(ImGui::GetWindowDrawList(), {min.x + size.x - std::max(1.0f, c.px(1)), min.y},
            {min.x + size.x, min.y + size.y}, c.theme.line);
  ImGui::End();
  ImGui::PopStyleColor();
  ImGui::PopStyleVar(2);
}

}  // namespace shardlens::ui
