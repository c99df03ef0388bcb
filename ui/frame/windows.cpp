// Draws the windows, and the head of a frozen training step: see windows.h.
#include "ui/frame/windows.h"

#include <fmt/format.h>
#include <icons_font_awesome_4.h>
#include <imgui.h>
#include <imgui_internal.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "engine/runtime/snapshot.h"
#include "engine/train/train_snapshot.h"
#include "ui/commands/commands.h"
#include "ui/frame/guarded.h"
#include "ui/frame/layout.h"
#include "ui/frame/narrow.h"
#include "ui/frame/notice.h"
#include "ui/frame/refusal.h"
#include "ui/outbox.h"
#include "ui/panels/break_it/break_parts.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {
namespace {

/// True if the panel was taken out of the dock space.
bool is_floating(const char* name) {
  const ImGuiWindow* panel = ImGui::FindWindowByName(name);
  return panel != nullptr && panel->DockId == 0;
}

/// Moves a floating panel back into the window when the mouse releases it. A window that is too small for a
/// panel does not make the panel small for good.
void keep_inside(const Context& context, const char* name) {
  if (!is_floating(name) || ImGui::IsMouseDown(ImGuiMouseButton_Left)) return;
  const ImGuiWindow* panel = ImGui::FindWindowByName(name);
  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  const ImVec2 least{context.px(kLeastPanel), context.px(kLeastPanel)};
  const ImVec2 size = ImMax(ImMin(panel->Size, viewport.Size), least);
  ImGui::SetNextWindowSize(size);
  ImGui::SetNextWindowPos(
      ImClamp(panel->Pos, viewport.Pos, ImMax(viewport.Pos, viewport.Pos + viewport.Size - size)));
}

bool begin_docked(const Context& context, const char* name, ImU32 ground) {
  keep_inside(context, name);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, tab_padding(context));
  // A floating panel needs a border, because the panels below it have the same colour.
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, is_floating(name) ? 1.0f : 0.0f);
  ImGui::PushStyleColor(ImGuiCol_WindowBg, ground);
  // A panel that appears together with a tab must not take the focus, or another tab would be in front.
  const bool visible =
      ImGui::Begin(name, nullptr, ImGuiWindowFlags_NoCollapse | ImGuiWindowFlags_NoFocusOnAppearing);
  ImGui::PopStyleColor();
  ImGui::PopStyleVar(2);
  return visible;
}

/// Brings a tab to the front in this frame, also where a message takes the focus in the same frame.
void bring_to_front(const char* name) {
  ImGui::SetNextWindowFocus();
  const ImGuiWindow* const window = ImGui::FindWindowByName(name);
  if (window != nullptr && window->DockNode != nullptr && window->DockNode->TabBar != nullptr)
    window->DockNode->TabBar->NextSelectedTabId = window->TabId;
}

bool is_in_front(const char* name) {
  const ImGuiWindow* const window = ImGui::FindWindowByName(name);
  return window != nullptr && window->DockNode != nullptr && window->DockNode->VisibleWindow == window;
}

/// Docks a tab that is missing in a remembered layout next to the Stage.
void dock_beside_stage() {
  const ImGuiWindow* stage = ImGui::FindWindowByName("Stage");
  if (stage != nullptr && stage->DockId != 0)
    ImGui::SetNextWindowDockID(stage->DockId, ImGuiCond_FirstUseEver);
}

float line_width(const Context& context) {
  return std::max(1.f, std::floor(context.px(1)));
}

/// Begins a window with a fixed place and the panels' background; ImGui::End() ends it.
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

/// Draws the edge that a hidden panel leaves. A click runs the command that shows the panel.
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

/// True if the page draws only a plan, and the wanted settings have none: then it shows the run before.
bool shows_run_before(const Context& context, Tab tab) {
  const Snapshot& snapshot = context.snapshot;
  const bool needs_plan = tab == Tab::Memory || tab == Tab::Traffic || tab == Tab::Program;
  return needs_plan && has_stopped(snapshot) && !snapshot.plan && snapshot.result && snapshot.result->plan;
}

/// Draws the page of the run before the present settings, dimmed.
void draw_run_before(const Context& context, DrawPanel draw) {
  Snapshot before = context.snapshot;
  before.plan = before.result->plan;
  before.state = RunState::Done;
  before.message.clear();
  const float top = ImGui::GetCursorScreenPos().y;
  draw_guarded(context.of(before, context.view), draw);
  dim_below(context, top);
}

/// Draws the head of a tab that shows a training step: the step's name, and buttons to leave it. The tab's
/// content begins below.
void draw_frozen_head(const Context& context) {
  const std::shared_ptr<const FrozenStep>& frozen = context.train.frozen;
  if (!frozen || context.replay.is_open()) return;
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, height = context.px(kControlHeight);
  const TrainCurve& curve = *context.train.curves[frozen->curve];
  float right = at.x + width;
  const auto button = [&](const char* text, ButtonLook look, const char* help) {
    right -= button_width(context, text);
    ImGui::SetCursorScreenPos({right, at.y});
    const bool pressed = draw_button(context, text, text, look, true, help);
    right -= context.px(8);
    return pressed;
  };
  if (button("Back to the plan", ButtonLook::Plain,
             "Every panel shows the earlier plan again; training stays paused"))
    context.send(train_command::LetGo{});
  if (context.train.state == TrainState::Paused &&
      button("Go on", ButtonLook::Accent, "Training continues; every panel shows the earlier plan again"))
    context.send(train_command::Resume{});
  const auto index = static_cast<size_t>(frozen->step - 1);
  const bool ended = index >= curve.steps.size();  // a rank failed or was lost in it
  const bool skipped = !ended && curve.steps[index]->report.skipped;
  const std::string words = fmt::format("Training step {} of {}{}", grouped_text(frozen->step), curve.name,
                                        ended     ? ", ended by a failed rank"
                                        : skipped ? ", frozen: it overflowed and was skipped"
                                                  : ", frozen");
  const TextStyle style{context.fonts.bold, context.px(kBodySize), theme.text};
  draw_text(list, {at.x, at.y + (height - style.size) / 2}, style, fitted(style, words, right - at.x));
  ImGui::SetCursorScreenPos({at.x, at.y + height + context.px(16)});
}

}  // namespace

void draw_panel_row_window(const Context& context) {
  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  const float height = panel_row_height(context.view);
  const ImVec2 min{viewport.Pos.x, viewport.Pos.y + viewport.Size.y - height};
  begin_fixed(context, "Panels", min, {viewport.Size.x, height}, {0, 0}, ImGuiWindowFlags_NoScrollWithMouse);
  draw_guarded(context, draw_panel_row);
  fill_rect(ImGui::GetWindowDrawList(), min, {min.x + viewport.Size.x, min.y + line_width(context)},
            context.theme.line);
  ImGui::End();
}

void draw_strip_window(const Context& context, const char* name, float top, float height, DrawPanel draw) {
  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  const ImVec2 min{viewport.Pos.x, viewport.Pos.y + top};
  const float padding = std::round((height - context.px(kControlHeight)) / 2);
  begin_fixed(context, name, min, {viewport.Size.x, height}, {context.px(16), padding},
              ImGuiWindowFlags_NoScrollWithMouse);
  draw_guarded(context, draw);
  fill_rect(ImGui::GetWindowDrawList(), {min.x, min.y + height - line_width(context)},
            {min.x + viewport.Size.x, min.y + height}, context.theme.line);
  ImGui::End();
}

void draw_folded_timeline(const Context& context, float height) {
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

void draw_folded_setup(const Context& context, float top, float bottom, float width) {
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

void draw_panel_window(const Context& context, const char* name, DrawPanel draw, bool is_result) {
  if (is_narrow(context.view) && !is_in_front(name)) bring_to_front(name);
  const bool visible = begin_docked(context, name, context.theme.panel);
  if (visible) {
    draw_guarded(context, draw);
    if (is_result) dim_stale_result(context);
    if (is_result) cover_awaited_scene(context);
  }
  ImGui::End();
}

void draw_tab_window(const Context& context, const char* name, Tab tab, DrawPanel draw) {
  ViewState& view = context.view;
  if (view.focus_tab && view.tab == tab) bring_to_front(name);
  dock_beside_stage();
  const bool visible = begin_docked(context, name, context.theme.window);
  if (visible && ImGui::IsWindowFocused(ImGuiFocusedFlags_RootAndChildWindows) && !view.focus_tab)
    view.tab = tab;
  // In the first frames nothing is docked yet, so every tab would draw and request its data.
  const bool settles = ImGui::GetFrameCount() <= kFirstFrames && view.tab != tab;
  if (visible && !settles) {
    const bool is_beside = stands_beside_the_run(tab);
    if (!is_beside && seen_break(context))
      draw_break_head(context);
    else if (!is_beside)
      draw_frozen_head(context);
    if (tab != Tab::Train) draw_refusal(context);  // a training has settings of its own
    if (shows_run_before(context, tab))
      draw_run_before(context, draw);
    else
      draw_guarded(context, draw);
    if (!is_beside) cover_awaited_scene(context);
  }
  ImGui::End();
}

bool is_within(const ImGuiWindow& window, std::string_view title) {
  const std::string_view name = window.Name;
  return name.size() > title.size() && name.starts_with(title) && name[title.size()] == '/';
}

}  // namespace shardlens::ui
