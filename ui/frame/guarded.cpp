// Catches what a panel throws.
#include "ui/frame/guarded.h"

#include <imgui.h>
#include <spdlog/spdlog.h>

#include <exception>
#include <string>

#include "engine/io/file_problem.h"
#include "ui/platform/recovery.h"
#include "ui/widgets/paint.h"
#include "ui/widgets/sentence.h"

namespace shardlens::ui {
namespace {

void log_once(const std::string& problem) {
  static std::string logged;
  if (problem == logged) return;
  logged = problem;
  spdlog::warn("a panel cannot be drawn: {}", problem);
}

}  // namespace

void draw_guarded(const Context& c, DrawPanel draw) {
  const ImVec2 begin = ImGui::GetCursorScreenPos();
  const FramePoint here;
  std::string problem;
  try {
    return draw(c);
  } catch (const std::exception& error) {
    problem = message_of(error);
  }
  here.back();
  log_once(problem);
  const float width =
      ImGui::GetWindowPos().x + ImGui::GetWindowWidth() - ImGui::GetStyle().WindowPadding.x - begin.x;
  const float height = ImGui::GetWindowPos().y + ImGui::GetWindowHeight() - begin.y;
  ImDrawList* list = ImGui::GetWindowDrawList();
  fill_rect(list, begin, {begin.x + width, begin.y + height}, c.theme.panel);
  const TextStyle bold{c.fonts.bold, c.px(kBodySize), c.theme.text},
      body{c.fonts.body, c.px(kBodySize), c.theme.text};
  ImVec2 at = begin;
  at.y += draw_wrapped(list, at, bold, "This cannot be drawn", width) + c.px(8);
  draw_wrapped(list, at, body,
               as_sentence(problem) +
                   "\nEverything else goes on, a run and a training too. Other settings or "
                   "another tab may help.",
               width);
}

}  // namespace shardlens::ui
