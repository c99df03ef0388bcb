// Draws the question and takes the answer.
#include "ui/frame/closing.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <memory>
#include <string>

#include "engine/train/train_snapshot.h"
#include "ui/panels/parts.h"
#include "ui/panels/train/train_view.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {
namespace {

constexpr float kWidth = 560;
constexpr float kPadding = 20;

bool is_lost(const TrainCurve& curve) {
  return curve.checkpoint.empty() && !curve.steps.empty() && !curve.done() && curve.ended.empty();
}

}  // namespace

std::string lost_steps(const TrainSnapshot& train) {
  std::string text;
  if (train.state != TrainState::Running && train.state != TrainState::Paused) return text;
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
  draw(type.strong, "A training is not finished", 4);
  draw(type.body,
       view.of<ClosingView>().lost +
           ". Its weights are not saved so far. Save and close makes a new folder inside the folder below "
           "and writes them there. shardlens-cli train --resume FOLDER continues from it.",
       4);
  draw(type.mono_note, fitted_in_middle(type.mono_note, view.of<TrainView>().checkpoints, room), 8);
  const auto answer = [&](std::optional<bool> saves) {
    view.of<ClosingView>().saves = saves;
    view.closing_open = false;
  };
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
  if (button("Save and close", ButtonLook::Accent, "Enter") || enter) answer(true);
  if (button("Close without saving", ButtonLook::Plain, "")) answer(false);
  if (button("Go on training", ButtonLook::Plain, "Esc")) answer({});
  if (end_cover()) view.close_covers();
}

}  // namespace shardlens::ui
