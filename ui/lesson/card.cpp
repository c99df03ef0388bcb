// The card of a lesson at the window's left: where one is, the scene's text and questions, and the ways on.
#include <fmt/format.h>
#include <icons_font_awesome_4.h>
#include <imgui.h>
#include <imgui_internal.h>

#include <algorithm>
#include <cmath>

#include "engine/lesson/built_in.h"
#include "engine/lesson/lesson_session.h"
#include "ui/commands/command_button.h"
#include "ui/frame/guarded.h"
#include "ui/frame/narrow.h"
#include "ui/lesson/card_parts.h"
#include "ui/lesson/lesson_view.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {
namespace {

// Alone a person reads replies too; a class needs the page.
constexpr float kCardWidth = 350, kClassCardWidth = 300, kMostOfWindow = 0.38f;
constexpr float kPadding = 16;
constexpr float kOfNarrowWindow = 0.45f, kTall = 0.68f;  // of its height, above the page
constexpr float kFoot = 56, kElsewhere = 66;
constexpr float kLeastScale = 0.83f;  ///< of the type in front of a class: 2.2 % of the window's height

/// The lesson's name, its scenes as dots, and the way out. In front of a class the Bar's place has them.
void draw_head(const Context& c, float width) {
  const TextStyle title{c.fonts.bold, std::round(c.px(kCardSmall)), c.theme.dim};
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float side = c.px(22);
  float right = at.x + width;
  const auto sign = [&](const char* id, const char* icon, const char* help) {
    right -= side;
    ImGui::SetCursorScreenPos({right, at.y});
    const bool pressed = click_area(id, {side, side});
    tooltip(c, help);
    draw_text(ImGui::GetWindowDrawList(), {right + side / 2, at.y + c.px(3)}, title, icon, Align::Centre);
    right -= c.px(12);
    return pressed;
  };
  if (sign("close lesson", ICON_FA_TIMES, "Close the lesson")) close_lesson(c);
  bool& tall = c.view.of<LessonView>().tall;
  if (is_narrow(c.view) && sign("height of card", tall ? ICON_FA_CHEVRON_UP : ICON_FA_CHEVRON_DOWN,
                                tall ? "More of the page" : "More of the text"))
    tall = !tall;
  draw_text(ImGui::GetWindowDrawList(), {at.x, at.y + c.px(3)}, title,
            fitted(title, c.lesson.lesson->title, right - at.x));
  const auto count = static_cast<float>(c.lesson.scenes.size());
  draw_scene_dots(c, {at.x, at.y + c.px(34)}, std::min(c.px(18), width / std::max(1.0f, count)));
  ImGui::SetCursorScreenPos({at.x, at.y + c.px(is_narrow(c.view) ? 44 : 50)});
}

/// Says that the page shows something else than the scene; empty: it does not.
const char* elsewhere_words(const Context& c) {
  const auto& view = c.view.of<LessonView>();
  if (view.away) return "The page shows something else than this scene.";
  return shown_answer(c) != nullptr ? "The page shows what the answer means." : "";
}

/// How the lesson went, and the ways on.
void draw_end(const Context& c, float width) {
  const auto wrapped = [&](const TextStyle& style, const std::string& words, float below) {
    draw_card_words(c, style, words, width, below);
  };
  const Lesson& lesson = *c.lesson.lesson;
  const auto& progress = c.view.of<LessonView>().progress[lesson_key(c.lesson)];
  const TextStyle text{c.fonts.body, std::round(card_px(c, kCardText)), c.theme.text};
  wrapped({c.fonts.bold, std::round(card_px(c, kCardTitle)), c.theme.text}, "The end of the lesson", 10);
  if (!is_class(c.view)) {  // a class answers with its hands
    const auto at_once = std::count_if(progress.right.begin(), progress.right.end(),
                                       [&](const std::string& id) { return !progress.wrong.contains(id); });
    wrapped(text,
            fmt::format("You have answered {} of {} questions right{}.", progress.right.size(),
                        lesson.question_count(),
                        progress.right.empty() ? "" : fmt::format(", {} of them at the first try", at_once)),
            16);
  }
  wrapped(text, "The lesson asked:", 4);
  wrapped({c.fonts.bold, text.size, c.theme.text}, lesson.asks, 4);
  wrapped(text, "Can you answer it now, in two sentences?", 16);
  const auto& all = built_in_lessons();
  const auto here = std::find(all.begin(), all.end(), c.lesson.lesson);
  if (here != all.end() && here + 1 != all.end() &&
      draw_button(c, "next lesson", fitted_button(c, "Next: " + (*(here + 1))->title, width),
                  ButtonLook::Accent, true, (*(here + 1))->asks))
    open_lesson(c, (*(here + 1))->name);
  ImGui::Dummy({0, card_px(c, 8)});
  if (draw_button(c, "end lesson", "Close the lesson", ButtonLook::Plain, true, "")) close_lesson(c);
}

void draw_scene(const Context& c, float width) {
  auto& view = c.view.of<LessonView>();
  const auto wrapped = [&](const TextStyle& style, const std::string& words, float below) {
    draw_card_words(c, style, words, width, below);
  };
  const TextStyle small{c.fonts.body, std::round(card_px(c, kCardSmall)), c.theme.dim};
  const TextStyle title{c.fonts.bold, std::round(card_px(c, kCardTitle)), c.theme.text};
  const MadeScene& made = c.lesson.scenes[static_cast<size_t>(view.scene)];
  wrapped(small, fmt::format("{} of {}", view.scene + 1, c.lesson.scenes.size()), 4);
  wrapped(title, c.lesson.lesson->scenes[static_cast<size_t>(view.scene)].title, 10);
  if (!made.problem.empty())
    return wrapped({c.fonts.body, std::round(card_px(c, kCardText)), c.theme.text},
                   "This scene cannot be shown. " + made.problem, 8);
  if (!made.shown)
    return wrapped(small, "The engine plans this scene and runs it, to fill in its numbers …", 8);
  if (!view.folded) draw_card_text(c, made.shown->text, width, c.theme.text);
  if (is_class(c.view)) {
    if (const ShownQuestion* asked = asked_question(c)) draw_question(c, *asked, width);
  } else {
    for (const ShownQuestion& question : made.shown->questions) draw_question(c, question, width);
  }
}

/// Below the scene, so that they take no room from what the class reads.
void draw_notes_in_card(const Context& c, float width) {
  const auto& view = c.view.of<LessonView>();
  const MadeScene& made = c.lesson.scenes[static_cast<size_t>(view.scene)];
  if (!view.notes || !made.shown) return;
  const auto wrapped = [&](const TextStyle& style, const std::string& words, float below) {
    draw_card_words(c, style, words, width, below);
  };
  const TextStyle small{c.fonts.body, std::round(card_px(c, kCardSmall)), c.theme.dim};
  wrapped({c.fonts.bold, std::round(card_px(c, kCardSmall)), c.theme.dim}, "Notes", 4);
  if (made.shown->notes.empty()) return wrapped(small, "This scene has no notes.", 8);
  draw_card_text(c, made.shown->notes, width, c.theme.dim);
}

/// The way back to the scene, if the page shows something else.
void draw_way_back(const Context& c, const char* words) {
  const TextStyle style{c.fonts.body, std::round(c.px(kCardSmall)), c.theme.dim};
  draw_text(ImGui::GetWindowDrawList(), ImGui::GetCursorScreenPos(), style,
            fitted(style, words, ImGui::GetContentRegionAvail().x));
  ImGui::Dummy({0, style.size + c.px(8)});
  command_button(c, "lesson.again", ICON_FA_UNDO "  Back to the scene", ButtonLook::Accent, "lesson again");
  ImGui::Dummy({0, c.px(8)});
}

void draw_ways_on(const Context& c) {
  command_button(c, "lesson.back", ICON_FA_CHEVRON_LEFT "  Back", ButtonLook::Plain, "lesson back");
  ImGui::SameLine(0, c.px(8));
  command_button(c, "lesson.next", "Next  " ICON_FA_CHEVRON_RIGHT, ButtonLook::Accent, "lesson next");
}

/// A class cannot scroll. With an answer that needs the room, the scene's text goes, which the class has
/// read; else the type becomes smaller until the scene fits, as far as it stays readable.
void fit_to_class(const Context& c, float room, float content) {
  auto& view = c.view.of<LessonView>();
  const ShownQuestion* const asked = asked_question(c);
  const bool answered = asked != nullptr && c.lesson.answers.contains(asked->question->id);
  const FittedCard shown{view.scene, view.question, room, answered};
  if (!is_class(c.view) || shown != view.fitted_for) {
    view.card_scale = 1;
    view.folded = false;
  }
  view.fitted_for = shown;
  if (!is_class(c.view) || content <= room) return;
  if (answered && !view.folded)
    view.folded = true;
  else
    view.card_scale = std::max(kLeastScale, view.card_scale - 0.04f);
}

void draw_content(const Context& c) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  if (!is_class(c.view)) draw_head(c, room.x);
  // A class goes on with keys, but comes back with a click as well.
  const char* const elsewhere = elsewhere_words(c);
  const float foot = c.px((*elsewhere != 0 ? kElsewhere : 0) + (is_class(c.view) ? 0 : kFoot));
  const float rest = ImGui::GetContentRegionAvail().y - foot;
  const float reply = c.view.of<LessonView>().ended ? 0 : reply_height(c, room.x, rest);
  const float height = rest - reply;
  // The text scrolls, and the ways on stay. A scene, or a class's next question, begins at its top.
  auto& view = c.view.of<LessonView>();
  if (view.fitted_for.scene != view.scene || view.fitted_for.question != view.question)
    ImGui::SetNextWindowScroll({0, 0});
  // Its scroll bar stands in the card's padding: where it comes and goes, no line breaks elsewhere.
  const float bar = std::min(ImGui::GetStyle().ScrollbarSize, c.px(kPadding));
  ImGui::BeginChild(fmt::format("scene {}", view.scene).c_str(), {room.x + bar, height},
                    ImGuiChildFlags_NavFlattened);
  const float top = ImGui::GetCursorPosY(), width = room.x - c.px(2);
  if (view.ended)
    draw_end(c, width);
  else
    draw_scene(c, width);
  const float content = ImGui::GetCursorPosY() - top;
  if (!view.ended) draw_notes_in_card(c, width);
  if (view.notes && !view.notes_in_view) ImGui::SetScrollHereY(1);
  view.notes_in_view = view.notes;
  ImGui::EndChild();
  fit_to_class(c, height, content);
  // What comes and goes does so above what stays: nothing else gets under the mouse.
  if (foot > 0) ImGui::Dummy({0, c.px(4)});
  if (*elsewhere != 0) draw_way_back(c, elsewhere);
  if (reply > 0) draw_reply(c, reply);
  if (!is_class(c.view)) draw_ways_on(c);
}

}  // namespace

bool is_over_card() {
  const ImGuiWindow* const card = ImGui::FindWindowByName("Lesson");
  return card != nullptr && card->Active && card->Rect().Contains(ImGui::GetMousePos());
}

LessonRoom lesson_room(const ViewState& view) {
  const auto& lesson = view.of<LessonView>();
  if (!lesson.open) return {};
  const ImVec2 window = ImGui::GetMainViewport()->Size;
  if (is_narrow(view)) return {.above = std::floor(window.y * (lesson.tall ? kTall : kOfNarrowWindow))};
  const float width = is_class(view) ? kClassCardWidth : kCardWidth;
  return {.left = std::floor(std::min(width * view.ui_scale(), window.x * kMostOfWindow))};
}

void draw_lesson_card(const Context& c, float top) {
  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  const ImVec2 min{viewport.Pos.x, viewport.Pos.y + top};
  const LessonRoom room = lesson_room(c.view);
  const ImVec2 size =
      room.above > 0 ? ImVec2(viewport.Size.x, room.above) : ImVec2(room.left, viewport.Size.y - top);
  ImGui::SetNextWindowPos(min);
  ImGui::SetNextWindowSize(size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding,
                      ImVec2(c.px(kPadding), c.px(room.above > 0 ? kPadding / 2 : kPadding)));
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(c.px(8), 0));
  ImGui::PushStyleColor(ImGuiCol_WindowBg, c.theme.panel);
  ImGui::Begin("Lesson", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus);
  draw_guarded(c, draw_content);
  const ImVec2 max{min.x + size.x, min.y + size.y};
  const float line = std::max(1.0f, c.px(1));
  fill_rect(ImGui::GetWindowDrawList(),
            room.above > 0 ? ImVec2(min.x, max.y - line) : ImVec2(max.x - line, min.y), max, c.theme.line);
  ImGui::End();
  ImGui::PopStyleColor();
  ImGui::PopStyleVar(2);
}

}  // namespace shardlens::ui
