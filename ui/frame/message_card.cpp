// Draws the message card and its buttons.
#include "ui/frame/message_card.h"

#include <icons_font_awesome_4.h>
#include <imgui.h>

#include <algorithm>
#include <vector>

#include "ui/widgets/controls.h"
#include "ui/widgets/copy_table.h"
#include "ui/widgets/format.h"
#include "ui/widgets/paint.h"
#include "ui/widgets/sentence.h"

namespace shardlens::ui {
namespace {

constexpr double kReadingSeconds = 20;

using OpenRecording = std::function<void(const std::string&)>;

/// A file of the message: its path, and buttons for what can be done with it.
void draw_file(const Context& context, const std::string& file, const OpenRecording& open_recording) {
  const TextStyle style{context.fonts.mono, context.px(kSmallSize), context.theme.text};
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  draw_text(ImGui::GetWindowDrawList(), {at.x, at.y + context.px(2)}, style,
            fitted_in_middle(style, file, width));
  ImGui::PushID(file.c_str());
  ImGui::Dummy({width, style.size + context.px(4)});
  tooltip(context, file);
  if (file.ends_with(".shardlens")) {
    if (draw_button(context, "Replay it", ICON_FA_PLAY "  Replay it", ButtonLook::Accent, true, ""))
      open_recording(file);
    ImGui::SameLine(0, context.px(8));
  }
  if (draw_button(context, "Copy the path", ICON_FA_COPY "  Copy the path", ButtonLook::Plain, true, ""))
    ImGui::SetClipboardText(file.c_str());
  ImGui::PopID();
}

void draw_words(const Context& context, const std::string& words) {
  const TextStyle style{context.fonts.body, context.px(kBodySize), context.theme.text};
  const float width = ImGui::GetContentRegionAvail().x;
  const float height =
      draw_wrapped(ImGui::GetWindowDrawList(), ImGui::GetCursorScreenPos(), style, words, width);
  ImGui::Dummy({width, height});
}

}  // namespace

void MessageCard::draw(const Context& context, const OpenRecording& open_recording) {
  Said& said = context.view.said;
  if (!said.empty()) message_ = std::exchange(said, {});
  if (const std::string copied = take_copied(); !copied.empty()) message_ = {"Copied: " + copied};
  if (std::exchange(drawn_, message_.words) != message_.words) shown_since_ = ImGui::GetTime();
  if (message_.files.empty() && ImGui::GetTime() > shown_since_ + kReadingSeconds) message_ = {};
  if (message_.empty()) return;
  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  const float width = std::min(context.px(560), viewport.Size.x - context.px(32));
  ImGui::SetNextWindowPos(
      {viewport.Pos.x + viewport.Size.x / 2, viewport.Pos.y + viewport.Size.y - context.px(16)},
      ImGuiCond_Always, {0.5f, 1});
  ImGui::SetNextWindowSize({width, 0});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1.0f);
  ImGui::PushStyleColor(ImGuiCol_WindowBg, context.theme.card);
  ImGui::Begin("Message", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoSavedSettings);
  ImGui::PopStyleColor();
  ImGui::PopStyleVar();
  draw_words(context, as_sentence(message_.words));
  for (const std::string& file : message_.files) draw_file(context, file, open_recording);
  if (ImGui::IsWindowHovered(ImGuiHoveredFlags_ChildWindows)) shown_since_ = ImGui::GetTime();  // still read
  if (ImGui::Button("Close")) message_ = {};
  ImGui::SameLine();
  ImGui::TextDisabled("Esc");
  ImGui::End();
}

}  // namespace shardlens::ui
