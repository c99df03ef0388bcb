// The strips of faults: see fault_bar.h.
#include "ui/panels/faults/fault_bar.h"

#include <fmt/format.h>
#include <icons_font_awesome_4.h>

#include <algorithm>
#include <initializer_list>
#include <string>

#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "engine/train/train_snapshot.h"
#include "ui/commands/command_button.h"
#include "ui/commands/commands.h"
#include "ui/commands/walk.h"
#include "ui/outbox.h"
#include "ui/panels/faults/fault_view.h"
#include "ui/panels/faults/faults.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/copy_table.h"
#include "ui/widgets/paint.h"
#include "ui/widgets/sentence.h"

namespace shardlens::ui {
namespace {

constexpr float kButtonGap = 8;
constexpr float kDetailsWidth = 760;
constexpr const char* kCopy = ICON_FA_COPY "  Copy";
constexpr const char* kDetails = ICON_FA_CHEVRON_DOWN "  Details";
constexpr const char* kLessDetails = ICON_FA_CHEVRON_UP "  Details";
constexpr const char* kShow = ICON_FA_SEARCH_PLUS "  Show";

/// Draws the whole message below the strip, over the panels. Returns true if a click elsewhere or Escape
/// closes it.
bool draw_details(const Context& c, const char* name, const std::string& message) {
  const ImVec2 corner{ImGui::GetWindowPos().x + c.px(16),
                      ImGui::GetWindowPos().y + ImGui::GetWindowHeight() + c.px(4)};
  const float width = std::min(c.px(kDetailsWidth), ImGui::GetWindowWidth() - c.px(32));
  ImGui::SetNextWindowPos(corner);
  ImGui::SetNextWindowSize({width, 0});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1.0f);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(c.px(16), c.px(12)));
  ImGui::PushStyleColor(ImGuiCol_WindowBg, c.theme.card);
  ImGui::Begin(name, nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoFocusOnAppearing);
  ImGui::PopStyleColor();
  ImGui::PopStyleVar(2);
  ImGui::TextWrapped("%s", message.c_str());
  const bool elsewhere = ImGui::IsMouseClicked(ImGuiMouseButton_Left) && !ImGui::IsWindowHovered();
  ImGui::End();
  return elsewhere || ImGui::IsKeyPressed(ImGuiKey_Escape, false);
}

/// A strip, filled from the right: first the buttons, then the text in the room that they leave. If the text
/// would be cut, buttons without a command of their own show only their icons.
struct Strip {
  const Context& c;
  std::string text;  ///< what happened
  ImVec2 at = ImGui::GetCursorScreenPos();
  float left = ImGui::GetCursorScreenPos().x;
  float right = left + ImGui::GetContentRegionAvail().x;
  bool brief = false;

  TextStyle bold() const { return {c.fonts.bold, c.px(kBodySize), c.theme.text}; }
  float words_left() const { return left + c.px(28); }

  /// Decides whether the buttons show only icons. Call it before the first of them is drawn.
  void make_room(std::initializer_list<const char*> buttons) {
    float room = right - words_left() - c.px(kButtonGap);
    for (const char* button : buttons) room -= button_width(c, button) + c.px(kButtonGap);
    brief = room < text_width(bold(), text);
  }

  bool button(const char* id, const char* shown, const char* help) {
    right -= button_width(c, shown);
    ImGui::SetCursorScreenPos({right, at.y});
    const bool pressed = draw_button(c, id, shown, ButtonLook::Plain, true, help);
    right -= c.px(kButtonGap);
    return pressed;
  }

  void command(const char* id, const std::string& label, ButtonLook look) {
    right -= command_button_at(c, id, label, look, {right, at.y}) + c.px(kButtonGap);
  }

  void copy_and_details(const char* name, const std::string& message, bool& details) {
    if (button("Copy", brief ? ICON_FA_COPY : kCopy, "Copy the whole message, to be pasted elsewhere"))
      copy_text(message, "the message");
    const char* const icon = details ? ICON_FA_CHEVRON_UP : ICON_FA_CHEVRON_DOWN;
    if (button("Details", brief ? icon : details ? kLessDetails : kDetails, "The whole message"))
      details = !details;
    const bool on_button = ImGui::IsItemHovered();  // a click on it closes the details too
    if (details && draw_details(c, name, message) && !on_button) details = false;
  }

  /// Draws what happened. `click_says`: what a click on it does; null: nothing. Returns true on a click.
  bool words(const char* click_says = nullptr) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const TextStyle icon{c.fonts.body, c.px(17), c.theme.communication};
    const float middle = at.y + c.px(kControlHeight) / 2;
    draw_text(list, {left, std::round(middle - icon.size / 2)}, icon, ICON_FA_UNLINK);
    const float x = words_left();
    const std::string shown = fitted(bold(), text, right - x - c.px(kButtonGap));
    bool clicked = false;
    TextStyle style = bold();
    if (click_says != nullptr) {
      ImGui::SetCursorScreenPos({left, at.y});
      clicked = click_area("place", {x + text_width(style, shown) - left, c.px(kControlHeight)});
      if (ImGui::IsItemHovered()) style.colour = c.theme.forward;
      tooltip(c, click_says);
    }
    draw_text(list, {x, std::round(middle - style.size / 2)}, style, shown);
    return clicked;
  }
};

}  // namespace

bool has_run_fault(const Context& c) {
  return !c.replay.is_open() && can_run_again(c);
}

bool has_training_fault(const Context& c) {
  return !c.replay.is_open() && failed_curve(c.train) != nullptr && can_restart_training(c);
}

void draw_run_fault(const Context& c) {
  Strip strip{c, as_sentence(fault_words(c.snapshot.plan->program, *c.snapshot.failure))};
  strip.command("run.again", ICON_FA_UNDO "  Run again", ButtonLook::Accent);
  strip.make_room({kCopy, kDetails});
  strip.copy_and_details("Run fault", c.snapshot.message, c.view.of<FaultView>().run_details);
  const RunFailure& failure = *c.snapshot.failure;
  if (failure.step < 0) {
    strip.words();
  } else if (strip.words("Show this step on the Stage")) {
    show_tab(c, Tab::Stage);
    show_step(c.view, c.snapshot.plan->program, failure.step,
              failure.ranks.empty() ? -1 : failure.ranks.front());
    reach_selection(c);
  }
}

void draw_training_fault(const Context& c) {
  const TrainCurve& curve = *failed_curve(c.train);
  const int64_t step = static_cast<int64_t>(curve.steps.size()) + 1;
  const std::string& model = curve.plan->program.settings.model.title;
  const std::string which = c.train.curves.size() > 1 ? fmt::format("{} of {}", model, curve.name) : model;
  Strip strip{c, fmt::format("Training {}, step {}: {}", which, step,
                             fault_words(curve.plan->program, *curve.failure))};
  if (strip.button("Close", ICON_FA_TIMES, "Close this strip. Train still shows where the training ended"))
    c.view.of<FaultView>().training_closed = true;
  strip.command("train.restart", ICON_FA_UNDO "  " + restart_words(c.train), ButtonLook::Accent);
  if (c.train.frozen == nullptr)
    strip.make_room({kCopy, kDetails, kShow});
  else
    strip.make_room({kCopy, kDetails});
  strip.copy_and_details("Training fault", curve.ended, c.view.of<FaultView>().training_details);
  if (c.train.frozen == nullptr && strip.button("Show", strip.brief ? ICON_FA_SEARCH_PLUS : kShow,
                                                "Show that training step on the Stage and the Timeline"))
    for (size_t i = 0; i < c.train.curves.size(); ++i)
      if (c.train.curves[i].get() == &curve) c.send(train_command::Freeze{i});
  strip.words();
}

}  // namespace shardlens::ui
