// The part of Setup for a rank that is late on purpose: which rank, by how much and before which step, and
// its cost in the last run.
#include <fmt/format.h>
#include <icons_font_awesome_4.h>
#include <imgui.h>

#include <array>

#include "engine/planner/delays.h"
#include "engine/runtime/snapshot.h"
#include "ui/panels/faults/faults.h"
#include "ui/panels/setup/delay_view.h"
#include "ui/panels/setup/delays.h"
#include "ui/panels/setup/setup.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/form.h"
#include "ui/widgets/paint.h"
#include "ui/widgets/sentence.h"

namespace shardlens::ui {
namespace {

constexpr std::array<int64_t, 12> kDelays{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000};

void note(const Context& context, const std::string& text, ImU32 colour) {
  const TextStyle style{context.fonts.body, context.px(kSmallSize), colour};
  const float height = draw_wrapped(ImGui::GetWindowDrawList(), ImGui::GetCursorScreenPos(), style, text,
                                    ImGui::GetContentRegionAvail().x);
  ImGui::Dummy({0, height + context.px(8)});
}

/// Draws one delay, with a cross at its right that removes it.
void draw_delay(const Context& context, const Settings& wanted, size_t index) {
  const Delay& delay = wanted.delays[index];
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = context.px(26), right = at.x + ImGui::GetContentRegionAvail().x;
  const TextStyle style{context.fonts.body, context.px(kBodySize), context.theme.text};
  const TextStyle cross{context.fonts.body, context.px(kSmallSize), context.theme.communication};
  ImGui::SetCursorScreenPos({right - height, at.y});
  if (click_area(fmt::format("on time {}", index).c_str(), {height, height})) {
    Settings changed = wanted;
    changed.delays.erase(changed.delays.begin() + static_cast<std::ptrdiff_t>(index));
    context.want(changed);
  }
  if (ImGui::IsItemHovered()) {
    fill_rect(list, {right - height, at.y}, {right, at.y + height}, context.theme.line, context.px(4));
    show_tooltip(context, fmt::format("Rank {} is on time again", delay.rank));
  }
  draw_text(list, {right - height / 2, at.y + (height - cross.size) / 2}, cross, ICON_FA_TIMES,
            Align::Centre);
  const std::string words = delay_words(delay, wanted);
  draw_text(list, {at.x, at.y + (height - style.size) / 2}, style,
            fitted(style, words, right - height - at.x - context.px(4)));
  ImGui::SetCursorScreenPos({at.x, at.y + height});
  ImGui::Dummy({0, 0});
}

}  // namespace

void draw_late_ranks(const Context& context, const Settings& wanted) {
  const Snapshot& snapshot = context.snapshot;
  const bool has_others =
      can_add_delay(context) && snapshot.plan->program.tp() * snapshot.plan->program.dp() > 1;
  if (wanted.delays.empty() && !has_others) return;  // no rank would wait
  heading(context, "A late rank");
  for (size_t i = 0; i < wanted.delays.size(); ++i) draw_delay(context, wanted, i);
  if (snapshot.result && !snapshot.stale()) {
    for (const Lateness& late : snapshot.result->late)
      note(context,
           as_sentence(to_sentence(snapshot.result->plan->program, late)) +
               fmt::format(" (computed from times {}).", snapshot.result->how()),
           context.theme.text);
  }
  if (!has_others) return;
  const Program& program = snapshot.plan->program;
  const DelayChoice choice = delay_choice(context, program);
  std::vector<std::string> ranks;
  for (int rank = 0; rank < program.tp() * program.dp(); ++rank)
    ranks.push_back(fmt::format("rank {}", rank));
  const int chosen = option_row(context, "Who", ranks[static_cast<size_t>(choice.rank)], ranks,
                                "The rank that is late, in every pass");
  if (chosen >= 0) context.view.of<DelayView>().rank = chosen;
  slider_row(context, "Late by, ms", {kDelays.begin(), kDelays.end()},
             context.view.of<DelayView>().milliseconds);
  context.view.of<DelayView>().milliseconds = std::clamp<int64_t>(
      context.view.of<DelayView>().milliseconds, 0, static_cast<int64_t>(kLongestDelayMilliseconds));
  const std::string before = fmt::format("before step {}, {}{}", choice.step, program.step(choice.step).name,
                                         choice.is_selected ? ", which is selected" : "");
  note(context, before, context.theme.dim);
  if (draw_button(context, "Make late", "Make it late", ButtonLook::Plain, true,
                  "The others wait for it in their next collective. The Timeline and Traffic show how long"))
    add_delay(context);
  ImGui::SameLine(0, context.px(8));
  if (draw_button(context, "Lose", ICON_FA_UNLINK "  Lose it", ButtonLook::Plain, true,
                  fmt::format("The rank never comes. The others give it up after {} s, and the run ends. Run "
                              "again brings it back",
                              kLostAfterSeconds)))
    lose_rank(context);
  ImGui::Dummy({0, context.px(8)});
  constexpr std::array<double, 6> kPatience{2, 5, 20, 60, 300, 0};
  std::vector<std::string> names;
  const auto name = [](double seconds) {
    return seconds == 0 ? std::string("never") : fmt::format("{:g} s", seconds);
  };
  for (const double seconds : kPatience) names.push_back(name(seconds));
  const int patience = option_row(context, "Lost after", name(wanted.timeout_seconds), names,
                                  "How long the others wait for a rank before it is lost and the run ends");
  if (patience >= 0) {
    Settings changed = wanted;
    changed.timeout_seconds = kPatience[static_cast<size_t>(patience)];
    context.want(changed);
  }
}

}  // namespace shardlens::ui
