// The state of the open lesson: which scene is shown, what a person has typed or chosen so far, and how a
// class has answered. What is right comes from the LessonSnapshot.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ui/context.h"

namespace shardlens {
struct ShownQuestion;  // engine/lesson/marking.h
struct ShownScene;     // engine/lesson/marking.h
struct ShownState;     // engine/lesson/lesson_session.h
}  // namespace shardlens

namespace shardlens::ui {

/// How far a person is in a lesson; remembered between starts.
struct LessonProgress {
  int scene = 0;                ///< the one that was shown last
  std::set<int> seen;           ///< scenes
  std::set<std::string> right;  ///< questions answered right
  std::set<std::string> wrong;  ///< questions answered wrong at least once
  bool operator==(const LessonProgress&) const = default;
};

/// A question before it is answered.
struct OpenQuestion {
  std::string typed;               ///< a number
  std::vector<std::string> order;  ///< items in the order in which they were clicked
  std::vector<int> hands;    ///< of a class: the choice of each, in the order in which they were counted
  std::string verdict;       ///< the words about the answer that were brought into view
  int sent = 0;              ///< answers and reveals that were asked for
  double sent_seconds = 0;   ///< ImGui's time when the last of them was
  bool wants_shown = false;  ///< a person asked to see where the wrong answer would be right
};

/// The verdict that the card was scrolled to last: it stays in view while type and card change.
struct ShownVerdict {
  std::string question;
  float card_scale = 0, room = 0, height = 0;  ///< the height of the card, and its own
  bool operator==(const ShownVerdict&) const = default;
};

/// What a class's card was fitted for.
struct FittedCard {
  int scene = 0, question = 0;
  float room = 0;
  bool answered = false;
  bool operator==(const FittedCard&) const = default;
};

struct LessonView {
  bool open = false;    ///< a lesson is open: its card has the left of the window
  bool starts = false;  ///< it was opened in this frame, by its name `wanted`
  std::string wanted;   ///< the lesson whose scene is to be shown when it is read
  int wanted_scene = 0;
  int scene = 0;
  int question = 0;                ///< of the scene: the one that a class is asked
  bool again = false;              ///< the scene is to be shown as it was in the beginning
  bool ended = false;              ///< the page after the last scene is shown
  std::optional<Settings> before;  ///< the settings when the lesson was opened
  bool away = false;               ///< a person has left the scene: other settings, or another tab
  std::string shown_for;           ///< the question whose answer the studio shows; empty: the scene itself
  std::string replied;             ///< the question that was answered last
  std::string typed_into;          ///< the question whose field is to take the digits that are typed
  double awaited_since = -1;       ///< ImGui's time since when the scene's run is on its way; -1: it is there
  std::map<std::string, OpenQuestion> questions;   ///< by id
  bool notes = false;                              ///< the text for who teaches is shown in the card
  bool notes_in_view = false;                      ///< the card was scrolled to it
  bool notes_window = false;                       ///< it has a window of its own, in front of a class
  bool blank = false;                              ///< nothing is shown to the class
  double began_seconds = 0;                        ///< ImGui's time when the lesson was opened
  double seconds = 0;                              ///< since then, in this frame
  std::map<std::string, LessonProgress> progress;  ///< by lesson_key()
  std::string last;                                ///< the lesson that was open last, by lesson_key()

  float card_scale = 1;   ///< of the card's type, to fit a scene in front of a class
  bool tall = false;      ///< in a narrow window: the card takes more of the page's room
  bool folded = false;    ///< the scene's text has made room for the answer
  FittedCard fitted_for;  ///< both are of this
  ShownVerdict verdict;
  double moved_seconds = -1;  ///< ImGui's time when the card scrolled by itself
  /// Since the scene is shown, a person has clicked on the page or gone to another step.
  bool pointed = false;
};

/// True in front of a class: a lesson is open in lecture mode.
inline bool is_class(const ViewState& view) {
  return view.of<LessonView>().open && view.lecture;
}

/// True if the page shows a scene as the lesson has it.
inline bool is_in_scene(const ViewState& view) {
  return view.of<LessonView>().open && !view.of<LessonView>().away;
}

/// True if the open scene asks for a cut.
bool asks_for_a_cut(const Context& context);
/// What a question asks is shown nowhere before it is answered. True while a question of the lesson's scene
/// with the planted mistake is open, on whatever page the person looks. Then nothing says where the error
/// starts, how far it spreads or which check finds it: whoever would say so asks here.
bool keeps_findings_back(const Context& context);

/// True while an open question of the lesson's scene is about what this function of a lesson gives.
bool keeps_back(const Context& context, std::string_view function);

/// True if settings and mistake are those of the scene, or of its answer: nothing of a person's is to be
/// undone.
bool are_settings_the_lessons(const Context& context);

/// The name by which a lesson's progress is remembered: of a built-in one its name, of a file its path.
std::string lesson_key(const LessonSnapshot& lesson);

/// Opens a lesson at a scene; `seed` draws its numbers. If it cannot be read, a message says why.
void open_lesson(const Context& context, const std::string& name_or_file, int scene = 0,
                 std::optional<uint64_t> seed = {});
/// What the scenes have set is taken back: settings, mistake, recording, training.
void close_lesson(const Context& context);

// From scene to scene; in front of a class from question to question.
void show_scene(const Context& context, int scene);
/// Where a person has left the scene: back to it.
void next_scene(const Context& context);
void previous_scene(const Context& context);
bool has_next(const Context& context);
bool has_previous(const Context& context);

/// The question that a class is asked now; null: there is none in this scene.
const ShownQuestion* asked_question(const Context& context);
/// The shown scene with its values; null: it is not made yet.
const ShownScene* made_scene(const Context& context);

/// The letter before a choice, which is also its key in front of a class: "A".
inline std::string choice_letter(size_t choice) {
  return std::string(1, static_cast<char>('A' + choice));
}

/// What the page shows in the scene's place, with an answer; null: the scene itself.
const ShownState* shown_answer(const Context& context);
/// True while the page still shows what was there before the scene, for longer than a moment.
bool awaits_scene(const ViewState& view);
/// Alone, in a scene that asks for a number, digits are for the first one that is open, and never for T.
/// Returns true if it has taken them.
bool take_keys_to_number(const Context& context);

/// True if an answer or a reveal has been on its way for so long that a person should be told.
bool waits_to_be_marked(const Context& context, const std::string& question);
void answer(const Context& context, const std::string& question, nlohmann::json value);
void reveal(const Context& context, const std::string& question);
/// Adds a hand to the choice with this index, or takes the last one back.
void raise_hand(const Context& context, size_t choice);
void take_hand_back(const Context& context);

/// What the card takes of the window, in pixels: at the left, or above the page in a narrow window. Both 0:
/// no lesson is open.
struct LessonRoom {
  float left = 0, above = 0;
  bool is_there() const { return left > 0 || above > 0; }
};
bool is_over_card();  ///< the mouse was there in the last frame
LessonRoom lesson_room(const ViewState& view);
/// Draws the card, from `top` down.
void draw_lesson_card(const Context& context, float top);
/// In front of a class: what stands in place of the Bar.
void draw_class_bar(const Context& context);
/// Covers the window while a class should see nothing.
void draw_blank(const Context& context);

}  // namespace shardlens::ui
