// Draws the questions of a scene: how each is answered, and how the answer was marked.
#include <fmt/format.h>
#include <icons_font_awesome_4.h>
#include <imgui.h>
#include <imgui_internal.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/counted.h"
#include "engine/config/splits.h"
#include "engine/lesson/functions.h"
#include "engine/lesson/lesson_session.h"
#include "engine/runtime/snapshot.h"
#include "ui/lesson/card_parts.h"
#include "ui/lesson/lesson_view.h"
#include "ui/outbox.h"
#include "ui/plan/shown_plan.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/paint.h"
#include "ui/widgets/sentence.h"

namespace shardlens::ui {
namespace {

constexpr float kChoiceHeight = 34;
constexpr float kPad = 10;
constexpr double kSettlesSeconds = 0.4;  ///< after the card has scrolled, a second click meant another choice
constexpr size_t kMostListed = 4;        ///< right answers that are all named

/// A question in this frame, with all that is known of it.
struct Asked {
  const Context& c;
  const ShownQuestion& shown;
  float width;
  OpenQuestion& open;
  const Marked* marked;      ///< null: not answered
  const RightAnswer* right;  ///< null: neither answered right nor revealed

  const Question& question() const { return *shown.question; }
  const std::string& id() const { return shown.question->id; }
  /// Of the question in its scene, from 1: for the names of its controls.
  std::string number() const { return id().substr(id().rfind('/') + 1); }
  bool is_done() const { return right != nullptr; }
  TextStyle text(float size, ImU32 colour, bool bold = false) const {
    return {bold ? c.fonts.bold : c.fonts.body, std::round(card_px(c, size)), colour};
  }
};

void draw_words(const Asked& asked, const TextStyle& style, const std::string& words, float indent = 0,
                float below = 6) {
  draw_card_words(asked.c, style, words, asked.width, below, indent);
}

bool draw_small_button(const Asked& asked, const char* what, const std::string& words, ButtonLook look,
                       bool enabled = true) {
  const bool clicked =
      draw_button(asked.c, fmt::format("{} {}", what, asked.number()).c_str(), words, look, enabled, "");
  ImGui::SameLine(0, card_px(asked.c, 8));
  return clicked;
}

bool is_right_choice(const Asked& asked, const std::string& choice) {
  return asked.right != nullptr && std::find(asked.right->accepted.begin(), asked.right->accepted.end(),
                                             choice) != asked.right->accepted.end();
}

/// One choice: its number, its words, in front of a class its hands, and the mark of the right one.
void draw_choice(const Asked& asked, size_t index) {
  const Context& c = asked.c;
  const std::string& words = asked.shown.choices[index];
  const bool in_class = is_class(c.view);
  const bool chosen = asked.marked != nullptr && asked.marked->answered == words;
  const bool right = is_right_choice(asked, words);
  const TextStyle number = asked.text(kCardQuestion, c.theme.dim, true);
  const TextStyle style = asked.text(kCardQuestion, c.theme.text);
  const auto& hands = asked.open.hands;
  const auto count = std::count(hands.begin(), hands.end(), static_cast<int>(index));
  const float mark = card_px(c, 22), bar = in_class ? std::round(asked.width * 0.26f) : 0;
  const float left = card_px(c, kPad + 22);
  const float room = asked.width - left - mark - bar - card_px(c, in_class ? kPad + 30 : kPad);
  const float height =
      std::max(card_px(c, kChoiceHeight), wrapped_height(style, words, room) + card_px(c, 2 * 8));
  const ImVec2 at = ImGui::GetCursorScreenPos(), end{at.x + asked.width, at.y + height};
  ImDrawList* list = ImGui::GetWindowDrawList();
  const bool clicked =
      click_area(fmt::format("choice {}.{}", asked.number(), index + 1).c_str(), {asked.width, height});
  const bool hovered = ImGui::IsItemHovered() && !asked.is_done();
  fill_rect(list, at, end, right ? mixed(c.theme.card, c.theme.agreement, 0.18f) : c.theme.card,
            card_px(c, 4));
  if (chosen || hovered || right)
    outline_rect(list, at, end,
                 right    ? c.theme.agreement
                 : chosen ? c.theme.forward
                          : c.theme.faint,
                 card_px(c, 4), std::max(1.0f, card_px(c, 1.5f)));
  const float middle = (at.y + end.y) / 2;
  const std::string key = choice_letter(index);
  draw_text(list, {at.x + card_px(c, kPad), middle - number.size * 0.56f}, number, key);
  if (in_class) {  // a key to press
    const float x = at.x + card_px(c, kPad) + text_width(number, key) / 2, half = card_px(c, 10);
    outline_rect(list, {x - half, middle - half}, {x + half, middle + half}, c.theme.faint, card_px(c, 3));
  }
  const float text_height = wrapped_height(style, words, room);
  draw_wrapped(list, {at.x + left, middle - text_height / 2}, style, words, room);
  const float mark_x = at.x + left + room + mark / 2;
  if (right)
    draw_text(list, {mark_x, middle - style.size * 0.56f}, asked.text(kCardQuestion, c.theme.agreement),
              ICON_FA_CHECK_CIRCLE, Align::Centre);
  else if (chosen && asked.marked != nullptr)
    draw_text(list, {mark_x, middle - style.size * 0.56f}, asked.text(kCardQuestion, c.theme.dim),
              ICON_FA_TIMES, Align::Centre);
  if (in_class) {
    const float bar_left = at.x + left + room + mark, bar_end = bar_left + bar;
    const float share = hands.empty() ? 0 : static_cast<float>(count) / static_cast<float>(hands.size());
    fill_rect(list, {bar_left, middle - card_px(c, 2)}, {bar_end, middle + card_px(c, 2)}, c.theme.line,
              card_px(c, 2));
    if (count > 0)
      fill_rect(list, {bar_left, middle - card_px(c, 2)}, {bar_left + bar * share, middle + card_px(c, 2)},
                c.theme.forward, card_px(c, 2));
    draw_text(list, {end.x - card_px(c, kPad), middle - style.size * 0.56f},
              asked.text(kCardSmall, c.theme.dim), fmt::format("{}", count), Align::Right);
  }
  ImGui::SetCursorScreenPos({at.x, end.y + card_px(c, 6)});
  if (!clicked || asked.is_done()) return;
  if (ImGui::GetTime() - c.view.of<LessonView>().moved_seconds < kSettlesSeconds) return;
  if (in_class)
    asked.open.hands.push_back(static_cast<int>(index));
  else
    answer(c, asked.id(), words);
}

/// The field that was just drawn gets the digits that were typed without it. Returns true when it has the
/// keyboard itself.
bool take_typed(std::string& typed) {
  if (ImGuiInputTextState* const state = ImGui::GetInputTextState(ImGui::GetItemID());
      state != nullptr && ImGui::IsItemActive()) {
    state->ClearSelection();  // else the next digit would replace the first ones
    return true;
  }
  for (const ImWchar sign : ImGui::GetIO().InputQueueCharacters)
    if (sign >= '0' && sign <= '9') typed += static_cast<char>(sign);
  return false;
}

void draw_number(const Asked& asked) {
  const Context& c = asked.c;
  if (asked.is_done()) return;
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(card_px(c, 8), card_px(c, 7)));
  ImGui::SetNextItemWidth(card_px(c, 120));
  std::string& goes_to = c.view.of<LessonView>().typed_into;
  const bool goes_here = goes_to == asked.id();
  if (goes_here) ImGui::SetKeyboardFocusHere();
  bool entered = ImGui::InputText(fmt::format("##number {}", asked.number()).c_str(), &asked.open.typed,
                                  ImGuiInputTextFlags_EnterReturnsTrue);
  // In the frame in which it gets the keyboard a field takes no key yet.
  entered = entered || (goes_here && ImGui::IsKeyPressed(ImGuiKey_Enter, false));
  // It keeps the keys: the digits of another try must not change T.
  if (entered) ImGui::SetKeyboardFocusHere(-1);
  if (goes_here && take_typed(asked.open.typed)) goes_to.clear();
  ImGui::PopStyleVar();
  ImGui::SameLine(0, card_px(c, 8));
  if (!asked.question().unit.empty()) {
    ImGui::AlignTextToFramePadding();
    ImGui::TextUnformatted(asked.question().unit.c_str());
    ImGui::SameLine(0, card_px(c, 12));
  }
  // What is no number is told why when it is marked: "1,024" and "2 KiB" are.
  const bool is_typed = asked.open.typed.find_first_not_of(' ') != std::string::npos;
  const bool clicked = draw_small_button(asked, "answer", "Answer", ButtonLook::Accent, is_typed);
  ImGui::NewLine();
  if ((clicked || entered) && is_typed)
    answer(c, asked.id(), asked.open.typed);
  else if (entered && is_class(c.view))
    reveal(c, asked.id());
}

/// The name under which a click on the Stage answers this question; empty: nothing was clicked that can.
std::string pointed_name(const Asked& asked) {
  const ViewState& view = asked.c.view;
  const Plan* const plan = shown_plan(asked.c.snapshot);
  if (plan == nullptr || view.selected_step < 0 || !view.of<LessonView>().pointed) return {};
  const Program& program = plan->program;
  switch (asked.question().at) {
    case PointAt::Step:
      return program.step(view.selected_step).name;
    case PointAt::Tensor:
      return view.selected_tensor == kNoTensor ? "" : program.tensor(view.selected_tensor).name;
    case PointAt::Rank:
      return view.selected_rank < 0 ? "" : fmt::format("rank {}", view.selected_rank);
    case PointAt::Bar:
      return program.step(view.selected_step).name;
  }
  return {};
}

/// What a person has clicked that no step makes, such as X; empty: nothing, or a step.
std::string selected_tensor_name(const Asked& asked) {
  const ViewState& view = asked.c.view;
  const Plan* const plan = shown_plan(asked.c.snapshot);
  const bool is_tensor_alone = plan != nullptr && view.of<LessonView>().pointed && view.selected_step < 0 &&
                               view.selected_tensor != kNoTensor;
  return is_tensor_alone ? plan->program.tensor(view.selected_tensor).name : "";
}

void draw_point(const Asked& asked) {
  const Context& c = asked.c;
  if (asked.is_done()) return;
  const std::string name = pointed_name(asked);
  const std::string other = name.empty() ? selected_tensor_name(asked) : "";
  const std::string kind = to_string(asked.question().at);
  const std::string words = !name.empty()   ? fmt::format("Selected: {}", named_as_shown(c, name))
                            : other.empty() ? fmt::format("Click a {} on the page.", kind)
                                            : fmt::format("{} is no {}. Click a {} on the page.",
                                                          named_as_shown(c, other), kind, kind);
  draw_words(asked, asked.text(kCardQuestion, name.empty() ? c.theme.dim : c.theme.text), words);
  if (draw_small_button(asked, "answer", "This one", ButtonLook::Accent, !name.empty()))
    answer(c, asked.id(), name);
  ImGui::NewLine();
}

void draw_order(const Asked& asked) {
  const Context& c = asked.c;
  const std::vector<std::string>& items = asked.shown.items;
  auto& order = asked.open.order;
  const bool own = !asked.is_done() || (asked.marked != nullptr && asked.marked->right);
  const std::vector<std::string>& numbered = own ? order : asked.right->accepted;
  if (!asked.is_done())
    draw_words(asked, asked.text(kCardSmall, c.theme.dim),
               "Click them one after another, the first one first.");
  for (size_t i = 0; i < items.size(); ++i) {
    const auto place = std::find(order.begin(), order.end(), items[i]);
    const ImVec2 at = ImGui::GetCursorScreenPos(), end{at.x + asked.width, at.y + card_px(c, kChoiceHeight)};
    ImDrawList* list = ImGui::GetWindowDrawList();
    const bool clicked = click_area(fmt::format("item {}.{}", asked.number(), i + 1).c_str(),
                                    {asked.width, card_px(c, kChoiceHeight)});
    fill_rect(list, at, end, c.theme.card, card_px(c, 4));
    if (ImGui::IsItemHovered() && !asked.is_done()) outline_rect(list, at, end, c.theme.faint, card_px(c, 4));
    const float middle = (at.y + end.y) / 2;
    const TextStyle number =
        asked.text(kCardQuestion, asked.is_done() ? c.theme.agreement : c.theme.forward, true);
    if (const auto shown = std::find(numbered.begin(), numbered.end(), items[i]); shown != numbered.end())
      draw_text(list, {at.x + card_px(c, kPad), middle - number.size * 0.56f}, number,
                fmt::format("{}", shown - numbered.begin() + 1));
    const TextStyle mono{c.fonts.mono, std::round(card_px(c, kCardQuestion)), c.theme.text};
    draw_text(list, {at.x + card_px(c, kPad + 22), middle - mono.size * 0.56f}, mono,
              fitted(mono, named_as_shown(c, items[i]), asked.width - card_px(c, 2 * kPad + 22)));
    ImGui::SetCursorScreenPos({at.x, end.y + card_px(c, 6)});
    if (!clicked || asked.is_done()) continue;
    if (place != order.end())
      order.erase(place);
    else
      order.push_back(items[i]);
  }
  if (asked.is_done()) return;
  if (draw_small_button(asked, "answer", "Answer", ButtonLook::Accent, order.size() == items.size()))
    answer(c, asked.id(), order);
  ImGui::NewLine();
}

nlohmann::json as_json(const Split& split) {
  nlohmann::json cuts = nlohmann::json::object();
  for (const MatrixCut& matrix : matrix_cuts()) cuts[matrix.name] = to_string(split.*matrix.cut);
  return cuts;
}

void draw_cut(const Asked& asked) {
  const Context& c = asked.c;
  if (asked.is_done()) return;
  const Split& split = c.wanted().split;
  draw_words(asked, asked.text(kCardSmall, c.theme.dim),
             "Choose the cuts of the matrices in Setup. Your cut is planned and run, and then marked.");
  for (const MatrixCut& matrix : matrix_cuts())
    if (matrix.is_in(c.wanted().block))
      draw_words(asked, asked.text(kCardQuestion, c.theme.text),
                 fmt::format("{}: {}", matrix.name, to_string(split.*matrix.cut)), 0, 2);
  ImGui::Dummy({0, card_px(c, 4)});
  if (draw_small_button(asked, "answer", "Mark my cut", ButtonLook::Accent))
    answer(c, asked.id(), as_json(split));
  ImGui::NewLine();
}

/// The right answer and why, with a bar in the colour of agreement.
void draw_right(const Asked& asked) {
  if (!asked.is_done()) return;
  const Context& c = asked.c;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float indent = card_px(c, 12);
  const bool by_person = asked.marked != nullptr && asked.marked->right;
  std::string answer = asked.right->text;
  if (asked.question().kind == QuestionKind::Point) {  // of many that are right, the one that was given
    const std::vector<std::string>& all = asked.right->accepted;
    answer = named_as_shown(c, by_person ? asked.marked->answered : all.front());
    if (!by_person && all.size() > kMostListed)
      answer += fmt::format(", or one of {} others", all.size() - 1);
    for (size_t i = 1; !by_person && all.size() <= kMostListed && i < all.size(); ++i)
      answer += (i + 1 == all.size() ? " or " : ", ") + named_as_shown(c, all[i]);
  }
  const std::string head = (by_person ? "Right: " : "") + answer;
  draw_words(asked, asked.text(kCardQuestion, c.theme.text, true), head, indent, 4);
  draw_words(asked, asked.text(kCardQuestion, c.theme.text), asked.right->because, indent, 0);
  fill_rect(ImGui::GetWindowDrawList(), at, {at.x + card_px(c, 3), ImGui::GetCursorScreenPos().y},
            c.theme.agreement);
  ImGui::Dummy({0, card_px(c, 8)});
  if (by_person || is_class(c.view)) return;
  if (draw_small_button(asked, "try again", "Try it again", ButtonLook::Plain)) {
    asked.open = {};
    c.send(lesson_command::Forget{asked.id()});
  }
  ImGui::NewLine();
}

/// Scrolls the card to a verdict that is new, from `top` to the cursor; and once more if the card or its type
/// has changed. If it is higher than the card, its first lines are shown.
void bring_into_view(const Asked& asked, const std::string& verdict, float top) {
  auto& view = asked.c.view.of<LessonView>();
  const ImRect room = ImGui::GetCurrentWindow()->InnerRect;
  const float bottom = ImGui::GetCursorScreenPos().y;
  const ShownVerdict now{asked.id(), view.card_scale, room.GetHeight(), bottom - top};
  const bool is_new = std::exchange(asked.open.verdict, verdict) != verdict;
  const bool has_moved = view.verdict.question == now.question && view.verdict != now;
  if (verdict.empty() || (!is_new && !has_moved)) return;
  view.verdict = now;
  if (top < room.Min.y || bottom - top > room.GetHeight())
    ImGui::SetScrollY(ImGui::GetScrollY() + top - room.Min.y);
  else if (bottom > room.Max.y)
    ImGui::SetScrollY(ImGui::GetScrollY() + bottom - room.Max.y);
  else
    return;
  view.moved_seconds = ImGui::GetTime();
}

}  // namespace

void draw_question(const Context& c, const ShownQuestion& shown, float width) {
  const std::string& id = shown.question->id;
  const auto marked = c.lesson.marked.find(id);
  const auto right = c.lesson.answers.find(id);
  const Asked asked{c,
                    shown,
                    width,
                    c.view.of<LessonView>().questions[id],
                    marked == c.lesson.marked.end() ? nullptr : &marked->second,
                    right == c.lesson.answers.end() ? nullptr : &right->second};
  ImGui::Dummy({0, card_px(c, 8)});
  const float question_top = ImGui::GetCursorScreenPos().y;
  draw_words(asked, asked.text(kCardQuestion, c.theme.text, true), shown.ask, 0, 8);
  switch (shown.question->kind) {
    case QuestionKind::Choice:
      for (size_t i = 0; i < shown.choices.size(); ++i) draw_choice(asked, i);
      // Below the choices, and with the first hand too: no choice moves when a hand is counted.
      if (is_class(c.view))
        draw_words(asked, asked.text(kCardSmall, c.theme.dim),
                   counted(static_cast<int64_t>(asked.open.hands.size()), "hand"));
      break;
    case QuestionKind::Number:
      draw_number(asked);
      break;
    case QuestionKind::Point:
      draw_point(asked);
      break;
    case QuestionKind::Order:
      draw_order(asked);
      break;
    case QuestionKind::Cut:
      draw_cut(asked);
      break;
  }
  ImGui::Dummy({0, card_px(c, 4)});
  const float top = ImGui::GetCursorScreenPos().y;
  draw_right(asked);
  if (!asked.is_done() && is_class(c.view)) {
    if (draw_small_button(asked, "reveal", "Reveal (Enter)", ButtonLook::Plain)) reveal(c, id);
    ImGui::NewLine();
    draw_words(asked, asked.text(kCardQuestion, c.theme.text), reply_words(c, *shown.question));
  }
  if (asked.is_done())
    bring_into_view(asked, asked.right->because, top);
  else if (!is_class(c.view))
    bring_into_view(asked, reply_words(c, *shown.question), question_top);
}

std::string named_as_shown(const Context& c, const std::string& name) {
  const Plan* const plan = shown_plan(c.snapshot);
  return plan == nullptr ? name : with_equation(plan->program, name);
}

}  // namespace shardlens::ui
