// Dims out-of-date panels and writes the notice.
#include "ui/frame/notice.h"

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_internal.h>

#include <algorithm>
#include <cmath>

#include "ui/lesson/lesson_view.h"
#include "ui/panels/faults/faults.h"
#include "ui/plan/shown_plan.h"
#include "ui/settings/difference.h"
#include "ui/widgets/paint.h"
#include "ui/widgets/sentence.h"
#include "ui/widgets/within.h"

namespace shardlens::ui {
namespace {

constexpr float kDimming = 0.55f, kCover = 0.88f;

/// What the engine does for the scene.
std::string on_the_way(const Context& c) {
  const Snapshot& snapshot = c.snapshot;
  const bool runs = snapshot.state == RunState::Running && snapshot.plan && c.wanted() == snapshot.settings;
  if (!runs) return "The engine plans it and runs it.";
  return fmt::format("The engine runs it: step {} of {}.", snapshot.position,
                     snapshot.plan->program.steps.size());
}

/// Draws over the current window: the child that begins last is above the other children, and below popups.
void over_the_window(const auto& draw) {
  const ImVec2 min = ImGui::GetWindowPos();
  const ImVec2 size = ImGui::GetWindowSize();
  ImGui::SetCursorScreenPos(min);
  ImGui::BeginChild("##above", size, ImGuiChildFlags_None,
                    ImGuiWindowFlags_NoInputs | ImGuiWindowFlags_NoDecoration |
                        ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoSavedSettings);
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->PushClipRect(min, min + size);
  draw(list, min, min + size);
  list->PopClipRect();
  ImGui::EndChild();
}

}  // namespace

bool has_stopped(const Snapshot& snapshot) {
  return snapshot.state == RunState::Refused || snapshot.state == RunState::Failed ||
         snapshot.state == RunState::Cancelled;
}

std::string notice(const Snapshot& snapshot) {
  return notice(snapshot, snapshot.settings);
}

std::string notice(const Snapshot& snapshot, const Settings& wanted) {
  const bool stopped = has_stopped(snapshot);
  const bool told = shown_failure(snapshot) != nullptr;  // the strip under the Bar shows the reason
  if (!shows_stale(snapshot)) return stopped && !told ? as_sentence(snapshot.message) : std::string();
  const Settings& shown = snapshot.result->plan->program.settings;
  std::string shown_parts = difference(shown, wanted);
  std::string text =
      "Out of date: this is " + (shown_parts.empty() ? std::string("an earlier run") : shown_parts) + ". ";
  if (stopped) return text + as_sentence(snapshot.message);
  // Newer settings are only planned after the running ones have stopped.
  const bool runs = snapshot.state != RunState::Planning && wanted == snapshot.settings;
  const std::string next = difference(wanted, shown);
  return text + (runs ? "Running " : "Planning ") + (next.empty() ? "again" : next) + " \u2026";
}

std::string no_plan_words(const Context& context) {
  return has_stopped(context.snapshot) ? "These settings have no plan, so there is nothing to show here."
                                       : "Planning.";
}

void dim_stale_result(const Context& context) {
  if (shows_stale(context.snapshot)) dim_below(context, ImGui::GetWindowPos().y);
}

void cover_awaited_scene(const Context& c) {
  if (!awaits_scene(c.view)) return;
  over_the_window([&](ImDrawList* list, ImVec2 min, ImVec2 max) {
    fill_rect(list, min, max, faded(c.theme.window, kCover));
    const TextStyle title{c.fonts.bold, std::round(c.px(18)), c.theme.text};
    const TextStyle note{c.fonts.body, std::round(c.px(kBodySize)), c.theme.dim};
    const ImVec2 middle{(min.x + max.x) / 2, min.y + (max.y - min.y) * 0.4f};
    const std::string words = on_the_way(c);
    if (text_width(note, words) > max.x - min.x) return;  // a panel beside the page, which says it
    draw_text(list, {middle.x, middle.y - title.size - c.px(6)}, title, "This scene is on its way",
              Align::Centre);
    draw_text(list, middle, note, words, Align::Centre);
  });
}

void dim_below(const Context& context, float top) {
  over_the_window([&](ImDrawList* list, ImVec2 min, ImVec2 max) {
    fill_rect(list, {min.x, within(top, min.y, max.y)}, max, faded(context.theme.window, kDimming));
  });
}

}  // namespace shardlens::ui
