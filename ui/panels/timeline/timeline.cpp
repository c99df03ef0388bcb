// The Timeline: one track a rank, with what was measured. Compute in the tint of its phase, waiting in faint
// and transfer in solid amber, a line where the last rank of a collective arrived. Before a run was timed it
// shows the plan's estimate and says so. It draws only what is in view.
#include <fmt/format.h>
#include <icons_font_awesome_4.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "engine/config/hardware.h"
#include "engine/runtime/core_sharing.h"
#include "engine/runtime/recordings/history_reader.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "ui/commands/commands.h"
#include "ui/commands/walk.h"
#include "ui/frame/narrow.h"
#include "ui/panels/faults/faults.h"
#include "ui/panels/panels.h"
#include "ui/panels/parts.h"
#include "ui/panels/timeline/history.h"
#include "ui/panels/timeline/timeline.h"
#include "ui/panels/timeline/timeline_view.h"
#include "ui/plan/shown_plan.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"
#include "ui/widgets/sentence.h"

namespace shardlens::ui {
namespace {

void transport_button(const Context& context, const char* icon, const char* id) {
  const UiCommand& command = find_command(id);
  const bool enabled = command.is_enabled(context);
  const float side = context.px(28);
  ImGui::BeginDisabled(!enabled);
  if (ImGui::Button(fmt::format("{}###{}", icon, id).c_str(), {side, side})) command.run(context);
  ImGui::EndDisabled();
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled | ImGuiHoveredFlags_DelayShort)) {
    show_tooltip(context, title_with_key(command));
  }
}

/// The run's measurements, from the fullest form to the shortest: "forward 9.80 ms · backward 18.9 ms · 740
/// GFLOP/s = 82 % of this machine's GEMM ceiling". Only what is known.
/// `whose`: words in front of the times, if they are not of the run of the settings.
std::vector<std::string> summaries(const Snapshot& snapshot, const Tracks& tracks, const std::string& whose) {
  if (!tracks.plan) return {""};
  if (!tracks.measured) {
    const std::shared_ptr<const Result> result = shown_result(snapshot);
    if (result && !result->not_timed.empty())
      return {result->not_timed, "the steps of this pass were not timed", "not timed"};
    if (tracks.seconds <= 0) return {"not timed yet"};
    const std::string& machine = find_hardware(tracks.plan->program.settings.hardware).title;
    return {fmt::format("estimated on {} until a run is timed", machine), "estimated"};
  }
  const Result& result = *snapshot.result;
  if (tracks.failure && !result.timed)
    return {"measured until " + fault_words(tracks.plan->program, *tracks.failure),
            "measured until the run ended"};
  if (!result.late.empty()) {
    const Lateness& late = result.late.front();
    const std::string more =
        result.late.size() > 1 ? fmt::format("  ·  and {} more", result.late.size() - 1) : "";
    return {(result.replayed ? std::string(result.how()) + ": " : "") +
                to_sentence(tracks.plan->program, late) + more,
            fmt::format("rank {} late: {} more waiting, pass {} longer", late.rank,
                        format_seconds(late.waited_seconds), format_seconds(late.longer_seconds)),
            fmt::format("rank {} late: pass {} longer", late.rank, format_seconds(late.longer_seconds)),
            fmt::format("rank {} late", late.rank)};
  }
  const std::string how = result.replayed ? std::string(result.how()) + ": " : whose;
  const std::string times =
      fmt::format("{}forward {}  ·  backward {}", how, format_seconds(result.forward_seconds),
                  format_seconds(result.backward_seconds));
  const std::string pass =
      fmt::format("{}{} per pass", how, format_seconds(result.forward_seconds + result.backward_seconds));
  if (result.flops_per_second <= 0) return {times, pass};
  const std::string speed = format_flops(result.flops_per_second);
  const std::string shared = core_sharing_words(result);
  if (result.gemm_ceiling_flops <= 0) return {times + "  ·  " + speed, times, pass};
  const std::string share = format_percent(result.flops_per_second / result.gemm_ceiling_flops);
  const std::string of_ceiling =
      fmt::format("{}  ·  {} = {} of this machine's GEMM ceiling", times, speed, share);
  if (!shared.empty())
    return {of_ceiling + "  ·  " + shared, times + "  ·  " + shared, of_ceiling, times, pass};
  return {of_ceiling, fmt::format("{}  ·  {} of the GEMM ceiling", times, share), times, pass};
}

/// Draws the button beside the panel's name, which ends at `at`.
void draw_hide_button(const Context& context, ImVec2 at, float side) {
  const UiCommand& command = find_command("view.timeline");
  ImGui::SetCursorScreenPos(at);
  if (click_area("hide", {side * 0.8f, side})) command.run(context);
  const TextStyle mark = timeline_text(context, context.fonts.body, kSmallSize,
                                       ImGui::IsItemHovered() ? context.theme.text : context.theme.dim);
  draw_text(ImGui::GetWindowDrawList(), {at.x + side * 0.4f, at.y + (side - mark.size) / 2}, mark,
            ICON_FA_CHEVRON_DOWN, Align::Centre);
  tooltip(context, title_with_key(command));
}

/// Draws the panel's name and the buttons that walk. Returns where they end.
float draw_transport(const Context& context) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float side = context.px(28);
  const TextStyle title = timeline_text(context, context.fonts.bold, kBodySize, context.theme.text);
  draw_text(ImGui::GetWindowDrawList(), {at.x, at.y + (side - title.size) / 2}, title, "Timeline");
  draw_hide_button(context, {at.x + text_width(title, "Timeline"), at.y}, side);

  ImGui::SetCursorScreenPos({at.x + context.px(96), at.y});
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {context.px(8), 0});
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {0, 0});
  transport_button(context, ICON_FA_FAST_BACKWARD, "walk.first");
  ImGui::SameLine();
  transport_button(context, ICON_FA_STEP_BACKWARD, "walk.back");
  ImGui::SameLine();
  transport_button(context, is_playing(context) ? ICON_FA_PAUSE : ICON_FA_PLAY, "run.play");
  ImGui::SameLine();
  transport_button(context, ICON_FA_STEP_FORWARD, "walk.forward");
  ImGui::SameLine();
  transport_button(context, ICON_FA_FAST_FORWARD, "walk.next_collective");
  ImGui::PopStyleVar(2);
  return ImGui::GetItemRectMax().x;
}

/// `reserve` pixels at the right stay free.
void draw_header(const Context& context, const Tracks& tracks, float reserve = 0) {
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float right = at.x + ImGui::GetContentRegionAvail().x - reserve;
  const float side = context.px(28);
  const TextStyle title = timeline_text(context, context.fonts.bold, kBodySize, theme.text);
  const TextStyle small = timeline_text(context, context.fonts.body, kSmallSize, theme.dim);
  const TextStyle mono = timeline_text(context, context.fonts.mono, kBodySize, theme.text);
  const float after_buttons = draw_transport(context) + context.px(24);
  // In a narrow window the words have a line of their own.
  const bool below = is_narrow(context.view);
  const float begin = below ? at.x : after_buttons, top = below ? at.y + side + context.px(4) : at.y;
  const std::optional<SeenBreak> seen = seen_break(context);
  const std::string whose = !seen ? "" : seen->side() == BreakSide::Sound ? "sound run: " : "broken run: ";
  std::vector<std::string> notes = summaries(context.snapshot, tracks, whose);
  TextStyle note_style = small;
  if (shows_stale(context.snapshot)) {
    const std::string& activity = context.snapshot.activity;
    notes = {activity.empty() ? "out of date" : "out of date, " + activity};
    note_style.colour = theme.text;
  }
  const StepId step = context.view.selected_step;
  const bool has_step =
      tracks.plan && step >= 0 && step < static_cast<StepId>(tracks.plan->program.steps.size());
  const Step* const selected = has_step ? &tracks.plan->program.step(step) : nullptr;
  const std::string count = has_step ? "step " + number_of(step, tracks.plan->program.steps.size()) : "";
  const std::string what = !has_step ? "" : is_collective(selected->op) ? selected->name : selected->equation;
  const TextStyle& what_style = has_step && is_collective(selected->op) ? title : mono;
  // Shows the longest summary that leaves room for the step and the whole legend, else for the one with the
  // phases, else for the smallest; if there is none, the longest one within 60 % of the free room.
  const float note_room = (right - begin) * 0.6f;
  const float whole_step = text_width(what_style, what) + context.px(12) + text_width(small, count);
  const LegendWidths legend = tracks.plan ? legend_widths(context, tracks.plan->program) : LegendWidths{};
  const float beside_step = right - begin - whole_step - context.px(2 * 32);
  const auto longest_within = [&](float room) { return longest_fitting(small, notes, room); };
  std::string beside;
  for (const float width : {legend.whole, legend.with_phases, legend.least})
    if (tracks.seconds > 0 && beside.empty())
      beside = longest_within(std::min(note_room, beside_step - width));
  const std::string alone = longest_within(note_room);
  const std::string note = !beside.empty() ? beside : alone.empty() ? notes.back() : alone;
  const float text_y = top + (side - small.size) / 2;
  const float note_width = std::min(text_width(small, note), note_room);
  draw_text(list, {right, text_y}, note_style, fitted(small, note, note_width + 1), Align::Right);

  const float room = right - note_width - context.px(16) - begin;
  float end = begin;
  if (has_step) {
    // The count is dropped if the equation needs its room.
    const float beside_count = room - text_width(small, count) - context.px(12);
    const bool counted = text_width(what_style, what) <= beside_count;
    const std::string shown = fitted(what_style, what, counted ? beside_count : room);
    draw_text(list, {begin, top + (side - mono.size) / 2}, what_style, shown);
    const float count_x = begin + text_width(what_style, shown) + context.px(12);
    if (counted) draw_text(list, {count_x, text_y}, small, count);
    end = counted ? count_x + text_width(small, count) : begin + text_width(what_style, shown);
  }
  if (tracks.seconds > 0 && tracks.plan)
    draw_legend(context, tracks.plan->program, end + context.px(32), right - note_width - context.px(32),
                top + side / 2);
  ImGui::SetCursorScreenPos({at.x, top + side + context.px(4)});
}

void show(ViewState& view, Stretch stretch) {
  view.of<TimelineView>().begin_seconds = stretch.begin;
  view.of<TimelineView>().end_seconds = stretch.end;
}

void say(const Context& context, const std::string& sentence) {
  const TextStyle style = timeline_text(context, context.fonts.body, kBodySize, context.theme.dim);
  draw_wrapped(ImGui::GetWindowDrawList(), ImGui::GetCursorScreenPos(), style, sentence,
               ImGui::GetContentRegionAvail().x);
  ImGui::Dummy({1, 1});
}

/// Draws the whole open recording, in place of one run.
void draw_history(const Context& context, float reserve) {
  const HistorySnapshot& history = context.history;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float right = at.x + ImGui::GetContentRegionAvail().x - reserve;
  const float after_buttons = draw_transport(context) + context.px(24), line = context.px(28 + 6);
  const bool below = is_narrow(context.view);
  const ImVec2 search{below ? at.x : after_buttons, below ? at.y + line + context.px(2) : at.y};
  ImGui::SetCursorScreenPos(search);
  follow_found(context);
  draw_search(context, search.x, right);
  ImGui::SetCursorScreenPos({at.x, search.y + line});
  if (!history.message.empty()) return say(context, as_sentence(history.message));
  if (history.waits()) return say(context, "The run has recorded no pass yet.");
  if (history.built < 1)
    return say(context,
               fmt::format("Reading the recording for the first time: {}", format_percent(history.built)));
  if (history.passes == 0) return say(context, "The recording holds no pass.");
  draw_history_tracks(context);
}

/// If this machine's run is shown beside a recording: draws the choice of what the Timeline shows, above the
/// head in a narrow window. Returns the width it took at the right of the head.
float draw_choice(const Context& context) {
  if (context.beside == nullptr) return 0;
  const std::array<std::string, 2> choices{"this pass, and here", "the recording"};
  const float width = choice_row_width(context, choices);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  bool& whole = context.view.of<TimelineView>().whole_recording;
  const bool above = is_narrow(context.view);
  const ImVec2 place{above ? at.x : at.x + ImGui::GetContentRegionAvail().x - width, at.y};
  const int clicked = choice_row(context, "timeline of", place, choices, whole ? 1 : 0);
  if (clicked >= 0) whole = clicked == 1;
  ImGui::SetCursorScreenPos({at.x, above ? at.y + choice_row_height(context) + context.px(8) : at.y});
  return above ? 0 : width + context.px(16);
}

/// Draws the shown pass and, below it, this machine's run of the same Program, on one axis.
void draw_beside(const Context& context, float reserve) {
  const Tracks recorded = tracks_of(context.snapshot);
  draw_header(context, recorded, reserve);
  const std::string machine = context.snapshot.result ? context.snapshot.result->provenance : std::string();
  draw_tracks(context,
              {{machine, recorded},
               {"measured here, on " + context.beside->result->machine, tracks_of(*context.beside)}});
}

}  // namespace

bool shows_beside(const Context& context) {
  return context.beside != nullptr && !context.view.of<TimelineView>().whole_recording;
}

bool shows_history(const Context& context) {
  return context.replay.is_open() && !shows_beside(context) &&
         context.history.path == context.replay.recording->path;
}

void pan_timeline(ViewState& view, const Snapshot& snapshot, double share) {
  const Stretch all = axis_of(tracks_of(snapshot));
  show(view,
       panned({view.of<TimelineView>().begin_seconds, view.of<TimelineView>().end_seconds}, share, all));
}

void zoom_timeline(ViewState& view, const Snapshot& snapshot, double factor) {
  const Tracks tracks = tracks_of(snapshot);
  const Stretch all = axis_of(tracks);
  const Stretch shown =
      clamped({view.of<TimelineView>().begin_seconds, view.of<TimelineView>().end_seconds}, all);
  double at = (shown.begin + shown.end) / 2;
  const auto step = static_cast<size_t>(std::max(view.selected_step, 0));
  if (view.selected_step >= 0 && !tracks.ranks().empty() && step < tracks.ranks().front().size()) {
    const StepEvent& event = tracks.ranks().front()[step];
    const double middle = (event.begin_seconds + event.end_seconds) / 2;
    if (middle > shown.begin && middle < shown.end) at = middle;
  }
  show(view, zoomed(shown, factor, at, all, kSmallestStretchSeconds));
}

void draw_timeline(const Context& context) {
  const float reserve = draw_choice(context);
  if (shows_beside(context)) return draw_beside(context, reserve);
  if (shows_history(context)) return draw_history(context, reserve);
  const Tracks tracks = tracks_of(context.snapshot);
  draw_header(context, tracks);
  if (tracks.seconds > 0) {
    draw_tracks(context, tracks);
    return;
  }
  const std::shared_ptr<const Result> result = shown_result(context.snapshot);
  const std::string not_timed = result ? result->not_timed : "";
  say(context,
      !tracks.plan         ? std::string("There is no plan to run.")
      : !not_timed.empty() ? not_timed
      : context.snapshot.only_planned()
          ? "This machine cannot run it, so nothing is timed. Choose hardware whose speed is known in "
            "Setup, such as an H100: then an estimate is shown here."
          : "The tracks appear when this run has been timed. If the machine is calibrated "
            "(Traffic, times), an estimate is shown here until then.");
}

}  // namespace shardlens::ui
