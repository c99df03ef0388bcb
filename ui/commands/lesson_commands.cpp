// The commands of an open lesson: from scene to scene, and what is done in front of a class.
#include <imgui.h>

#include <string>

#include "engine/lesson/built_in.h"
#include "engine/lesson/lesson_session.h"
#include "ui/commands/command_table.h"
#include "ui/lesson/lesson_view.h"
#include "ui/lesson/save_scene.h"
#include "ui/platform/file_dialog.h"

namespace shardlens::ui {
namespace {

bool is_open(const Context& c) {
  return c.view.of<LessonView>().open;
}

bool in_class(const Context& c) {
  return is_class(c.view);
}

bool asks(const Context& c) {
  return in_class(c) && asked_question(c) != nullptr;
}

/// Until the answer is revealed the choices' letters are hands.
bool counts_hands(const Context& c) {
  return asks(c) && !asked_question(c)->choices.empty() &&
         !c.lesson.answers.contains(asked_question(c)->question->id);
}

/// A choice's letter means nothing else, also when its answer is revealed and a late hand comes.
bool has_choice(const Context& c, size_t choice) {
  return asks(c) && choice < asked_question(c)->choices.size();
}

void show_or_hide_notes(const Context& c) {
  auto& view = c.view.of<LessonView>();
  bool& shown = view.notes_window || (in_class(c) && c.view.screens > 1) ? view.notes_window : view.notes;
  shown = !shown;
}

}  // namespace

void add_lesson_commands(std::vector<UiCommand>& table) {
  const auto add = adder(table, CommandGroup::Lesson);
  add("lesson.next", "Next scene",
      "The next scene of the lesson; in front of a class the next question first. Where you have left a "
      "scene: back to it",
      {ImGuiKey_PageDown}, next_scene, has_next);
  add("lesson.back", "Previous scene", "The scene before this one. Where you have left a scene: back to it",
      {ImGuiKey_PageUp}, previous_scene, has_previous);
  add(
      "lesson.again", "Back to the scene", "Shows the scene of the lesson as it was in the beginning", {},
      [](const Context& c) { c.view.of<LessonView>().again = true; }, is_open);
  add(
      "lesson.reveal", "Reveal the answer", "In front of a class: shows what is right, and why",
      {ImGuiKey_Enter, ImGuiKey_KeypadEnter},
      [](const Context& c) { reveal(c, asked_question(c)->question->id); }, asks);
  // A letter, because the words of a choice are often a number.
  for (size_t choice = 0; choice < kMostChoices; ++choice) {
    const std::string letter = choice_letter(choice);
    add(
        "lesson.hand_" + letter, "A hand for answer " + letter,
        "In front of a class: one more hand for this answer", {ImGuiKey_A + static_cast<int>(choice)},
        [choice](const Context& c) {
          if (counts_hands(c)) raise_hand(c, choice);
        },
        [choice](const Context& c) { return has_choice(c, choice); });
  }
  add("lesson.hand_back", "Take a hand back", "In front of a class: the last hand was not meant",
      {ImGuiKey_Backspace}, take_hand_back, counts_hands);
  add(
      "lesson.blank", "Blank the window, or show it", "In front of a class: nothing is shown",
      {ImGuiKey_Period},
      [](const Context& c) { c.view.of<LessonView>().blank = !c.view.of<LessonView>().blank; }, in_class);
  add("lesson.notes", "Show or hide the notes of the scene",
      "What the lesson tells who teaches it. In front of a class they are on the other screen, if there is "
      "one",
      {ImGuiKey_N}, show_or_hide_notes, is_open);
  add(
      "lesson.notes_window", "Notes in a window of their own",
      "In front of a class: a second window with the notes, the time and what comes next", {},
      [](const Context& c) {
        auto& view = c.view.of<LessonView>();
        view.notes_window = !view.notes_window;
        view.notes = false;
      },
      in_class);
  if (has_file_dialog())
    add("lesson.open_file", "Open a lesson's file \u2026",
        "A lesson of your own, FILE.md; or drop one on the window", {},
        [](const Context&) { ask_for_files(".md"); });
  for (const Lesson& lesson : built_in_heads())
    add("lesson.open." + lesson.name, "Lesson: " + lesson.title, lesson.asks, {},
        [name = lesson.name](const Context& c) { open_lesson(c, name); });
  add("lesson.save_scene", "Save as scene",
      "Writes what the studio shows as a scene of the open lesson, or of a new one in your folder",
      {ImGuiMod_Shift | ImGuiKey_S}, save_scene);
  add("lesson.close", "Close the lesson", "What its scenes have set is taken back", {}, close_lesson,
      is_open);
}

}  // namespace shardlens::ui
