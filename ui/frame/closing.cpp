// Draws the question and takes the answer.
#include "ui/frame/closing.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "engine/train/train_snapshot.h"
#include "ui/outbox.h"
#include "ui/panels/parts.h"
#include "ui/panels/train/train_view.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"
#include "ui/widgets/paint.h"
#include "ui/widgets/sentence.h"

namespace shardlens::ui {
namespace {

constexpr float kWidth = 560;
constexpr float kPadding = 20;

bool is_lost(const TrainCurve& curve) {
  return curve.checkpoint.empty() && !curve.steps.empty() && !curve.done() && curve.ended.empty();
}

bool is_trained(const TrainSnapshot& train) {
  return train.state == TrainState::Running || train.state == TrainState::Paused;
}

bool has_unsaved_steps(const TrainCurve& curve) {
  return !curve.checkpoint.empty() && curve.ended.empty() && !curve.done() &&
         static_cast<int64_t>(curve.steps.size()) > curve.saved_step;
}

/// Why models are not saved, a sentence each; empty: all are.
std::string save_problems(const TrainSnapshot& train) {
  std::string text;
  for (const std::shared_ptr<const TrainCurve>& curve : train.curves)
    if (!curve->save_problem.empty())
      text +=
          fmt::format("{}{}: {}", text.empty() ? "" : "\n", curve->name, as_sentence(curve->save_problem));
  return text;
}

struct Question {
  const char* title;
  std::string text;
};

Question words_of(const ClosingView& closing) {
  if (closing.awaited || closing.wants_save)
    return {"The training is being saved", "The studio closes when that is done."};
  if (!closing.problem.empty())
    return {"The training could not be saved",
            closing.problem + "\nMake room there and try again, or go on training. The training is paused."};
  return {"A training is not finished",
          closing.lost +
              ". Its weights are not saved so far. Save and close makes a new folder inside the folder below "
              "and writes them there. shardlens-cli train --resume FOLDER continues from it."};
}

}  // namespace

bool has_unsaved_steps(const TrainSnapshot& train) {
  return is_trained(train) && std::any_of(train.curves.begin(), train.curves.end(),
                                          [](const auto& curve) { return has_unsaved_steps(*curve); });
}

void follow_closing(const Context& context, const TrainSnapshot& train) {
  ViewState& view = context.view;
  ClosingView& closing = view.of<ClosingView>();
  if (!view.closing_open && !closing.saves) {  // the training goes on
    if (std::exchange(closing.was_running, false)) context.send(train_command::Resume{});
    closing.problem.clear();
    closing.awaited.reset();
    closing.wants_save = false;
    return;
  }
  if (std::exchange(closing.wants_save, false)) {
    closing.was_running |= train.state == TrainState::Running;
    closing.awaited = train.saves + 1;
    context.send(train_command::Save{true});
  }
  if (!closing.awaited || train.saves < *closing.awaited) return;
  closing.awaited.reset();
  closing.problem = save_problems(train);
  if (closing.problem.empty()) closing.saves = true;
}

std::string lost_steps(const TrainSnapshot& train) {
  std::string text;
  if (!is_trained(train)) return text;
  for (const std::shared_ptr<const TrainCurve>& curve : train.curves)
    if (is_lost(*curve))
      text += fmt::format("{}{} is at step {} of {}", text.empty() ? "" : ", and ", curve->name,
                          grouped_text(static_cast<int64_t>(curve->steps.size())),
                          grouped_text(curve->options.steps));
  return text;
}

void draw_closing(const Context& c) {
  ViewState& view = c.view;
  if (!view.closing_open) return;
  const Type type(c);
  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  const float width = std::min(c.px(kWidth), viewport.WorkSize.x - c.px(32));
  begin_cover(c, "Close", {viewport.Pos.x + viewport.Size.x / 2, viewport.Pos.y + viewport.Size.y / 3},
              {0.5f, 0.5f}, {width, 0}, c.px(kPadding), ImGuiWindowFlags_NoScrollbar);
  const float room = ImGui::GetContentRegionAvail().x;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const auto draw = [&](const TextStyle& style, const std::string& words, float gap) {
    const float height = draw_wrapped(list, ImGui::GetCursorScreenPos(), style, words, room);
    ImGui::Dummy({room, height + c.px(gap)});
  };
  ClosingView& closing = view.of<ClosingView>();
  const Question words = words_of(closing);
  const bool is_saving = closing.awaited || closing.wants_save;
  draw(type.strong, words.title, 4);
  draw(type.body, words.text, 4);
  draw(type.mono_note, fitted_in_middle(type.mono_note, view.of<TrainView>().checkpoints, room), 8);
  const bool enter =
      ImGui::IsKeyPressed(ImGuiKey_Enter, false) || ImGui::IsKeyPressed(ImGuiKey_KeypadEnter, false);
  const auto button = [&](const char* text, ButtonLook look, const char* help) {
    const float end = ImGui::GetWindowPos().x + ImGui::GetWindowWidth() - c.px(kPadding);
    if (ImGui::GetCursorScreenPos().x > ImGui::GetWindowPos().x + c.px(kPadding) + 1 &&
        ImGui::GetCursorScreenPos().x + button_width(c, text) > end)
      ImGui::NewLine();
    const bool pressed = draw_button(c, text, text, look, true, help);
    ImGui::SameLine(0, c.px(8));
    return pressed;
  };
  const char* const save = closing.problem.empty() ? "Save and close" : "Try again";
  if (!is_saving && (button(save, ButtonLook::Accent, "Enter") || enter)) closing.wants_save = true;
  if (button("Close without saving", ButtonLook::Plain, "")) closing.saves = false;
  if (button("Go on training", ButtonLook::Plain, "Esc")) view.closing_open = false;
  if (end_cover()) view.close_covers();
}

}  // namespace shardlens::ui
