// The strips of faults: see fault_bar.h.
#include "ui/panels/fault_bar.h"

#include <fmt/format.h>
#include <icons_font_awesome_4.h>

#include <algorithm>

#include "ui/commands/command_button.h"
#include "ui/faults.h"
#include "ui/widgets/paint.h"
#include "ui/widgets/sentence.h"

namespace shardlens::ui {
namespace {

constexpr float kGap = 8;
constexpr float kDetailsWidth = 760;

/// The whole message below the strip, over what lies there.
void draw_details(const Context& c, const char* name, const std::string& message) {
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
  ImGui::End();
}

/// From the right: buttons, and then what is left for the words.
struct Strip {
  const Context& c;
  ImVec2 at = ImGui::GetCursorScreenPos();
  float left = ImGui::GetCursorScreenPos().x;
  float right = left + ImGui::GetContentRegionAvail().x;

  bool button(const char* id, const std::string& text, const char* help) {
    right -= button_width(c, text);
    ImGui::SetCursorScreenPos({right, at.y});
    const bool pressed = draw_button(c, id, text, ButtonLook::Plain, true, help);
    right -= c.px(kGap);
    return pressed;
  }

  void command(const char* id, const std::string& text, ButtonLook look) {
    right -= command_button_at(c, id, text, look, {right, at.y}) + c.px(kGap);
  }

  void copy_and_details(const char* name, const std::string& message, bool& details) {
    if (button("Copy", ICON_FA_COPY "  Copy", "The whole message, to be pasted elsewhere"))
      ImGui::SetClipboardText(message.c_str());
    if (button("Details", details ? ICON_FA_CHEVRON_UP "  Details" : ICON_FA_CHEVRON_DOWN "  Details",
               "The whole message"))
      details = !details;
    if (details) draw_details(c, name, message);
  }

  void words(const std::string& text) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const TextStyle icon{c.fonts.body, c.px(17), c.theme.communication};
    const TextStyle bold{c.fonts.bold, c.px(kBodySize), c.theme.text};
    const float middle = at.y + c.px(kControlHeight) / 2;
    draw_text(list, {left, std::round(middle - icon.size / 2)}, icon, ICON_FA_UNLINK);
    const float x = left + c.px(28);
    draw_text(list, {x, std::round(middle - bold.size / 2)}, bold,
              fitted(bold, text, right - x - c.px(kGap)));
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
  Strip strip{c};
  strip.command("run.again", ICON_FA_UNDO "  Run again", ButtonLook::Accent);
  strip.copy_and_details("Run fault", c.snapshot.message, c.view.fault.run_details);
  strip.words(as_sentence(fault_words(c.snapshot.plan->program, *c.snapshot.failure)));
}

void draw_training_fault(const Context& c) {
  const TrainCurve& curve = *failed_curve(c.train);
  Strip strip{c};
  strip.command("train.restart", ICON_FA_UNDO "  " + restart_words(c.train), ButtonLook::Accent);
  strip.copy_and_details("Training fault", curve.ended, c.view.fault.training_details);
  const int64_t step = static_cast<int64_t>(curve.steps.size()) + 1;
  if (c.train.frozen == nullptr &&
      strip.button("Show", ICON_FA_SEARCH_PLUS "  Show", "That training step on the Stage and the Timeline"))
    for (size_t i = 0; i < c.train.curves.size(); ++i)
      if (c.train.curves[i].get() == &curve) c.send(train_command::Freeze{i});
  const std::string which = c.train.curves.size() > 1 ? " of " + curve.name : "";
  strip.words(
      fmt::format("Training step {}{}: {}", step, which, fault_words(curve.plan->program, *curve.failure)));
}

}  // namespace shardlens::ui
