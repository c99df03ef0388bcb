// The Timeline of a recording: the requests to the reader, the event under the mouse, and the search.
#include "ui/panels/timeline/history.h"

#include <fmt/format.h>
#include <icons_font_awesome_4.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cmath>

#include "engine/base/counted.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "ui/outbox.h"
#include "ui/plan/shown_plan.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"
#include "ui/widgets/within.h"

namespace shardlens::ui {
namespace {

constexpr double kFoundShare = 1.0 / 12;  // of the panel's width, for a step that was found
constexpr float kFieldWidth = 200, kLeastFieldWidth = 110;

struct Search {
  HistoryFind find;
  const char* id;
  const char* words;
  const char* help;
};
constexpr Search kSearches[] = {
    {HistoryFind::Collective, "find collective", "Collective", "Goes to the next collective"},
    {HistoryFind::SlowPass, "find slow pass", "Slow pass",
     "Goes to the slowest pass. Click again: the second slowest, and so on"},
    {HistoryFind::LongWait, "find long wait", "Long wait",
     "Goes to the longest wait of a rank for others. Click again: the second longest, and so on"}};

std::string not_found(const HistoryView& view) {
  switch (view.find) {
    case HistoryFind::Step:
      return fmt::format("no step is called \u201C{}\u201D", view.words);
    case HistoryFind::Collective:
      return "it has no collective";
    case HistoryFind::SlowPass:
      return "it holds no pass";
    case HistoryFind::LongWait:
      return "no rank waited";
  }
  return {};
}

std::string found_words(const HistoryPlace& place, HistoryFind find) {
  const std::string wrapped = place.wrapped ? ", from the beginning again" : "";
  const auto rank_among = [&](const char* most) {
    return place.number == 0 ? std::string(most) : fmt::format("{} no. {}", most, place.number + 1);
  };
  if (find == HistoryFind::SlowPass) return fmt::format("{}{}", rank_among("slowest"), wrapped);
  if (find == HistoryFind::LongWait)
    return fmt::format("{}, rank {}{}", rank_among("longest wait"), place.rank, wrapped);
  return fmt::format("pass {}{}", place.pass, wrapped);
}

/// The field and the buttons that find a place, from `left` on. Returns where the rest begins.
float draw_finders(const Context& context, float left, float right, float top) {
  HistoryView& view = context.view.of<HistoryView>();
  const float gap = context.px(8), height = context.px(kControlHeight);
  float buttons = 0;
  for (const Search& search : kSearches) buttons += button_width(context, search.words) + gap;
  const float field = within(right - left - buttons, context.px(kLeastFieldWidth), context.px(kFieldWidth));
  ImGui::SetCursorScreenPos({left, top});
  ImGui::SetNextItemWidth(field);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {context.px(8), (height - ImGui::GetFontSize()) / 2});
  if (view.search_focus) ImGui::SetKeyboardFocusHere();
  view.search_focus = false;
  const bool entered = ImGui::InputTextWithHint("##find step", ICON_FA_SEARCH "  find a step", &view.words,
                                                ImGuiInputTextFlags_EnterReturnsTrue);
  if (entered) view.search_focus = true;  // Enter again goes to the next one
  ImGui::PopStyleVar();
  tooltip(context, "Press Enter to find the next step whose name or equation contains this text");
  if (entered && !view.words.empty()) ask_for(context, HistoryFind::Step);
  float x = left + field + gap;
  for (const Search& search : kSearches) {
    const float width = button_width(context, search.words);
    if (x + width > right) break;
    ImGui::SetCursorScreenPos({x, top});
    if (draw_button(context, search.id, search.words, ButtonLook::Plain, true, search.help))
      ask_for(context, search.find);
    x += width + gap;
  }
  return x;
}

}  // namespace

std::shared_ptr<const HistoryPass> pass_at(const HistorySlice& slice, double seconds) {
  const auto ns = static_cast<int64_t>(seconds * 1e9);
  std::shared_ptr<const HistoryPass> found;
  for (const auto& pass : slice.passes)
    if (pass->begin_ns <= ns && ns < pass->end_ns()) found = pass;
  return found;
}

std::optional<HistoryHit> hit_in(const Program& program, const HistorySlice& slice, int rank, Lane lane,
                                 double seconds, double reach_seconds) {
  std::optional<HistoryHit> nearest;
  const double at = seconds * 1e9;
  double nearest_distance = reach_seconds * 1e9;
  int64_t nearest_ns = 0;
  for (const auto& pass : slice.passes) {
    const bool near = static_cast<double>(pass->begin_ns) - at < nearest_distance &&
                      at - static_cast<double>(pass->end_ns()) < nearest_distance;
    if (!near || static_cast<size_t>(rank) >= pass->events.size()) continue;
    const std::vector<EventTimes>& track = pass->events[static_cast<size_t>(rank)];
    const size_t steps = std::min(track.size(), program.steps.size());
    for (size_t step = 0; step < steps; ++step) {
      if (lane_of(program.steps[step]) != lane) continue;
      const EventTimes& event = track[step];
      const double distance =
          std::max({static_cast<double>(event.begin_ns) - at, at - static_cast<double>(event.end_ns), 0.0});
      const int64_t ns = event.end_ns - event.begin_ns;
      // A step that takes no time is at the border between its neighbours: choose the longer one.
      if (distance < nearest_distance ||
          (distance == 0 && nearest && nearest_distance == 0 && ns > nearest_ns)) {
        nearest = HistoryHit{pass, rank, static_cast<StepId>(step)};
        nearest_distance = distance;
        nearest_ns = ns;
      }
    }
  }
  return nearest;
}

// Asks for twice the shown stretch, so that panning needs no new answer at once, and for buckets half as wide
// as a column, so that zooming in does not either.
std::optional<HistoryAsked> look_needed(Stretch shown, Stretch all, int64_t column,
                                        const HistoryAsked& asked) {
  const auto ns = [](double seconds) { return static_cast<int64_t>(std::llround(seconds * 1e9)); };
  const int64_t begin = ns(shown.begin), end = ns(shown.end);
  const bool serves = asked.number > 0 && asked.begin_ns <= begin && asked.end_ns >= end &&
                      asked.bucket_ns <= column && asked.end_ns - asked.begin_ns <= 4 * (end - begin);
  if (serves) return std::nullopt;
  HistoryAsked wanted;
  wanted.begin_ns = std::max(ns(all.begin), begin - (end - begin) / 2);
  wanted.end_ns = std::min(ns(all.end), end + (end - begin) / 2);
  wanted.bucket_ns = std::max<int64_t>(1, column / 2);
  return wanted;
}

void pan_history(HistoryView& view, const HistorySnapshot& history, double share) {
  view.shown = panned(view.shown, share, axis_of(history));
}

void zoom_history(HistoryView& view, const HistorySnapshot& history, double factor) {
  const Stretch shown = shown_of(view, history);
  view.shown =
      zoomed(shown, factor, (shown.begin + shown.end) / 2, axis_of(history), kSmallestStretchSeconds);
}

void show_in_history(const Context& context, StepId step) {
  const Snapshot* now = context.replay.shown.get();
  const auto rank = static_cast<size_t>(std::max(0, context.view.selected_rank));
  if (now == nullptr || !now->result || step < 0 || rank >= now->result->events.size()) return;
  const std::vector<StepEvent>& track = now->result->events[rank];
  if (static_cast<size_t>(step) >= track.size()) return;
  const StepEvent& event = track[static_cast<size_t>(step)];
  const double begin = context.replay.pass_begin_seconds + event.begin_seconds,
               end = context.replay.pass_begin_seconds + event.end_seconds;
  const Stretch shown = shown_of(context.view.of<HistoryView>(), context.history);
  if (end > shown.begin && begin < shown.end) return;
  const double left = (begin + end - shown.size()) / 2;
  context.view.of<HistoryView>().shown = clamped({left, left + shown.size()}, axis_of(context.history));
}

void ask_for(const Context& context, HistoryFind find) {
  HistoryView& view = context.view.of<HistoryView>();
  const bool again = view.find == find && view.found;
  HistoryQuestion question;
  question.find = find;
  question.text = view.words;
  question.rank = std::max(0, context.view.selected_rank);
  question.pass = context.replay.pass;
  question.step = context.view.selected_step;
  question.number = again ? view.found->number + 1 : 0;
  view.find = find;
  view.find_number = ++view.numbers;
  view.find_pending = true;
  context.send(history_command::Find{view.find_number, question});
}

void follow_found(const Context& context) {
  HistoryView& view = context.view.of<HistoryView>();
  if (!view.find_pending || context.history.found_number != view.find_number) return;
  view.find_pending = false;
  view.found = context.history.found;
  view.said = view.found ? found_words(*view.found, view.find) : not_found(view);
  if (!view.found) return;
  const HistoryPlace& place = *view.found;
  const Stretch all = axis_of(context.history), shown = shown_of(view, context.history);
  const double begin = static_cast<double>(place.begin_ns) * 1e-9,
               end = static_cast<double>(place.end_ns) * 1e-9;
  double size = 1.1 * (end - begin);
  if (place.step >= 0) size = std::min(shown.size(), std::max((end - begin) / kFoundShare, 20e-6));
  const double middle = (begin + end) / 2;
  view.shown = clamped({middle - size / 2, middle + size / 2}, all);
  if (place.pass != context.replay.pass) context.send(replay_command::ShowPass{place.pass});
  const Plan* plan = shown_plan(context.snapshot);
  if (place.step < 0 || plan == nullptr) return;
  show_step(context.view, plan->program, place.step);
}

void draw_search(const Context& context, float left, float right) {
  HistoryView& view = context.view.of<HistoryView>();
  const Theme& theme = context.theme;
  const float gap = context.px(8), height = context.px(kControlHeight),
              top = ImGui::GetCursorScreenPos().y - context.px(2);
  // In front of a class the room is for what the colours mean.
  const float x = context.view.lecture ? left : draw_finders(context, left, right, top);
  const TextStyle style = timeline_text(context, context.fonts.body, kSmallSize, theme.dim);
  const HistorySnapshot& history = context.history;
  const std::string& said = view.said;
  const std::string note = said.empty() ? counted(history.passes, "pass", "passes") : said;
  const float room = right - x - gap;
  if (room <= context.px(60)) return;
  draw_text(ImGui::GetWindowDrawList(), {right, top + (height - style.size) / 2}, style,
            fitted(style, note, room), Align::Right);
  draw_legend(context, context.replay.recording->plan->program, x + context.px(16),
              right - std::min(room, text_width(style, note)) - context.px(32), top + height / 2);
}

}  // namespace shardlens::ui
