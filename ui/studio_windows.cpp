// The studio's windows around what is drawn in them: strips, docked panels, the centre's tabs with the head
// of a frozen training step, and the message at the bottom.
#include <fmt/format.h>
#include <icons_font_awesome_4.h>
#include <imgui.h>
#include <imgui_internal.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "ui/commands/commands.h"
#include "ui/frame/notice.h"
#include "ui/studio.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/copy_table.h"
#include "ui/widgets/format.h"
#include "ui/widgets/paint.h"
#include "ui/widgets/sentence.h"

namespace shardlens::ui {
namespace {

constexpr double kReadingSeconds = 20;

/// Taken out of the dock space.
bool is_floating(const char* name) {
  const ImGuiWindow* panel = ImGui::FindWindowByName(name);
  return panel != nullptr && panel->DockId == 0;
}

/// A floating panel stays whole in the window, once it is let go.
void keep_inside(const char* name) {
  if (!is_floating(name) || ImGui::IsMouseDown(ImGuiMouseButton_Left)) return;
  const ImGuiWindow* panel = ImGui::FindWindowByName(name);
  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  const ImVec2 size = ImMin(panel->Size, viewport.Size);
  ImGui::SetNextWindowSize(size);
  ImGui::SetNextWindowPos(ImClamp(panel->Pos, viewport.Pos, viewport.Pos + viewport.Size - size));
}

bool begin_docked(const Context& context, const char* name, ImU32 ground) {
  keep_inside(name);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, tab_padding(context));
  // One that floats lies on panels of its own colour.
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, is_floating(name) ? 1.0f : 0.0f);
  ImGui::PushStyleColor(ImGuiCol_WindowBg, ground);
  // A panel that comes with a tab takes no focus from it, which would leave another tab in front.
  const bool visible =
      ImGui::Begin(name, nullptr, ImGuiWindowFlags_NoCollapse | ImGuiWindowFlags_NoFocusOnAppearing);
  ImGui::PopStyleColor();
  ImGui::PopStyleVar(2);
  return visible;
}

/// A tab that a remembered layout does not know yet stands with the others.
void dock_beside_stage() {
  const ImGuiWindow* stage = ImGui::FindWindowByName("Stage");
  if (stage != nullptr && stage->DockId != 0)
    ImGui::SetNextWindowDockID(stage->DockId, ImGuiCond_FirstUseEver);
}

float line_width(const Context& context) {
  return std::max(1.f, std::floor(context.px(1)));
}

/// A window that stands where it is put, on the panels' ground; ImGui::End() ends it.
void begin_fixed(const Context& context, const char* name, ImVec2 min, ImVec2 size, ImVec2 padding,
                 ImGuiWindowFlags flags) {
  ImGui::SetNextWindowPos(min);
  ImGui::SetNextWindowSize(size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, padding);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowMinSize, ImVec2(1, 1));
  ImGui::PushStyleColor(ImGuiCol_WindowBg, context.theme.panel);
  ImGui::Begin(name, nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoSavedSettings | flags);
  ImGui::PopStyleColor();
  ImGui::PopStyleVar(2);
}

/// What is left at an edge of the window of a panel that is hidden: a click runs the command that shows it.
void draw_edge(const Context& context, const char* name, const char* shown_by, ImVec2 min, ImVec2 size,
               const std::function<void(const TextStyle&)>& draw) {
  begin_fixed(context, name, min, size, {0, 0}, ImGuiWindowFlags_NoFocusOnAppearing);
  const UiCommand& command = find_command(shown_by);
  if (click_area("unfold", size)) command.run(context);
  const TextStyle style{context.fonts.body, context.px(kSmallSize),
                        ImGui::IsItemHovered() ? context.theme.text : context.theme.dim};
  tooltip(context, title_with_key(command));
  draw(style);
  ImGui::End();
}

}  // namespace

/// A strip over the whole width of the window, `top` below its upper edge: the Bar, and that of a replay.
void Studio::draw_strip(const Context& context, const char* name, float top, float height,
                        void (*draw)(const Context&)) {
  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  const ImVec2 min{viewport.Pos.x, viewport.Pos.y + top};
  const float padding = std::round((height - context.px(kControlHeight)) / 2);
  begin_fixed(context, name, min, {viewport.Size.x, height}, {context.px(16), padding},
              ImGuiWindowFlags_NoScrollWithMouse);
  draw(context);
  fill_rect(ImGui::GetWindowDrawList(), {min.x, min.y + height - line_width(context)},
            {min.x + viewport.Size.x, min.y + height}, context.theme.line);
  ImGui::End();
}

/// What is left of the Timeline where it was hidden: its name at the window's lower edge, and a click shows
/// it.
void Studio::draw_folded_timeline(const Context& context, float height) {
  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  const ImVec2 min{viewport.Pos.x, viewport.Pos.y + viewport.Size.y - height};
  draw_edge(context, "Folded timeline", "view.timeline", min, {viewport.Size.x, height},
            [&](const TextStyle& style) {
              draw_text(ImGui::GetWindowDrawList(),
                        {min.x + context.px(16), min.y + (height - style.size) / 2}, style,
                        "Timeline  " ICON_FA_CHEVRON_UP);
              fill_rect(ImGui::GetWindowDrawList(), min,
                        {min.x + viewport.Size.x, min.y + line_width(context)}, context.theme.line);
            });
}

/// The same of Setup at the left edge, where its name has no room: what stands there is its icon.
void Studio::draw_folded_setup(const Context& context, float top, float bottom, float width) {
  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  const ImVec2 min{viewport.Pos.x, viewport.Pos.y + top};
  const float height = viewport.Size.y - top - bottom;
  draw_edge(context, "Folded setup", "view.setup", min, {width, height}, [&](const TextStyle& style) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const float x = min.x + width / 2, y = min.y + context.px(12);
    draw_text(list, {x, y}, style, ICON_FA_SLIDERS_H, Align::Centre);
    draw_text(list, {x, y + style.size + context.px(8)}, style, ICON_FA_CHEVRON_RIGHT, Align::Centre);
    fill_rect(list, {min.x + width - line_width(context), min.y}, {min.x + width, min.y + height},
              context.theme.line);
  });
}

/// A docked panel; `is_result`: what it shows comes from a run and may be out of date.
void Studio::draw_panel(const Context& context, const char* name, void (*draw)(const Context&),
                        bool is_result) {
  const bool visible = begin_docked(context, name, context.theme.panel);
  if (visible) {
    draw(context);
    if (is_result) dim_stale_result(context);
  }
  ImGui::End();
}

/// The head of a tab that shows a training step: which one, and the ways on. The tab itself begins below it.
void Studio::draw_frozen(const Context& context) {
  if (!frozen_ || replayed_->is_open()) return;
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, height = context.px(kControlHeight);
  const TrainCurve& curve = *train_->curves[frozen_->curve];
  float right = at.x + width;
  const auto button = [&](const char* text, ButtonLook look, const char* help) {
    right -= button_width(context, text);
    ImGui::SetCursorScreenPos({right, at.y});
    const bool pressed = draw_button(context, text, text, look, true, help);
    right -= context.px(8);
    return pressed;
  };
  if (button("Back to the plan", ButtonLook::Plain,
             "Every panel shows the plan of before; training stays held"))
    context.send(train_command::LetGo{});
  if (train_->state == TrainState::Paused &&
      button("Go on", ButtonLook::Accent, "Training goes on; every panel shows the plan of before"))
    context.send(train_command::Resume{});
  const auto index = static_cast<size_t>(frozen_->step - 1);
  const bool ended = index >= curve.steps.size();  // a rank ended it
  const bool skipped = !ended && curve.steps[index]->report.skipped;
  const std::string words = fmt::format("Training step {} of {}{}", grouped_text(frozen_->step), curve.name,
                                        ended     ? ", which a rank ended"
                                        : skipped ? ", frozen: it overflowed and was skipped"
                                                  : ", frozen");
  const TextStyle style{context.fonts.bold, context.px(kBodySize), theme.text};
  draw_text(list, {at.x, at.y + (height - style.size) / 2}, style, fitted(style, words, right - at.x));
  ImGui::SetCursorScreenPos({at.x, at.y + height + context.px(16)});
}

/// A change of the plan leaves the training step that every panel shows; it says so, and where that one went.
void Studio::leave_frozen() {
  training_.send(train_command::LetGo{});
  const bool held = training_.snapshot()->state == TrainState::Paused;
  view_.said = fmt::format("The panels show the plan again. Training step {} is no longer shown{}.",
                           grouped_text(frozen_->step),
                           held ? ": training is held, and Freeze, in Train, shows its step again" : "");
}

/// One of the centre's tabs, on the window's own ground. The Stage says itself what stands in its way; the
/// others show the plan that is wanted.
void Studio::draw_tab(const Context& context, const char* name, Tab tab, void (*draw)(const Context&)) {
  if (view_.focus_tab && view_.tab == tab) ImGui::SetNextWindowFocus();
  dock_beside_stage();
  const bool visible = begin_docked(context, name, context.theme.window);
  if (visible && ImGui::IsWindowFocused(ImGuiFocusedFlags_RootAndChildWindows) && !view_.focus_tab)
    view_.tab = tab;
  // In the first frames nothing is docked yet: every tab would draw, and ask for what it is about to show.
  const bool settles = ImGui::GetFrameCount() <= kFirstFrames && view_.tab != tab;
  if (visible && !settles) {
    const bool is_beside = stands_beside_the_run(tab);
    if (!is_beside) draw_frozen(context);
    draw(context);
    if (tab != Tab::Stage && !is_beside) draw_notice(context);
  }
  ImGui::End();
}

/// A file that a message tells of: where it is, and what can be done with it.
void Studio::draw_file(const Context& context, const std::string& file) {
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

/// What would help, as buttons: as many in a line as fit.
void Studio::draw_offers(const Context& context) {
  const float left = ImGui::GetCursorScreenPos().x, end = left + ImGui::GetContentRegionAvail().x;
  const float gap = context.px(8);
  float x = left;
  for (const Remedy& offer : message_.offers) {
    const float width = button_width(context, offer.label);
    if (x > left && x + width <= end) ImGui::SameLine(0, gap);
    if (x + width > end) x = left;
    x += width + gap;
    if (draw_button(context, offer.label.c_str(), offer.label, ButtonLook::Accent, true, ""))
      context.want(offer.settings);
  }
}

/// A sentence about the studio itself, at the bottom, until it is closed or has been there long enough to be
/// read; one about files stays, with what can be done with them.
void Studio::draw_message(const Context& context) {
  if (!view_.said.empty()) message_ = std::exchange(view_.said, {});
  if (const std::string copied = take_copied(); !copied.empty()) message_ = {"Copied: " + copied};
  if (std::exchange(told_, message_.words) != message_.words) told_since_ = ImGui::GetTime();
  if (message_.files.empty() && ImGui::GetTime() > told_since_ + kReadingSeconds) message_ = {};
  if (message_.about && *message_.about != context.wanted()) message_ = {};
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
  ImGui::TextWrapped("%s", as_sentence(message_.words).c_str());
  for (const std::string& file : message_.files) draw_file(context, file);
  draw_offers(context);
  if (ImGui::IsWindowHovered(ImGuiHoveredFlags_ChildWindows)) told_since_ = ImGui::GetTime();  // being read
  if (ImGui::Button("Close")) message_ = {};
  ImGui::SameLine();
  ImGui::TextDisabled("Esc");
  ImGui::End();
}

}  // namespace shardlens::ui
