// The tracks of the Timeline: compute in the tint of its phase, waiting in faint and transfer in solid amber,
// a line where the last rank arrived. Only what is in view is drawn, and steps narrower than a pixel are
// drawn together.
#include <fmt/format.h>
#include <icons_font_awesome_4.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/counted.h"
#include "engine/device/device.h"
#include "engine/runtime/core_sharing.h"
#include "engine/runtime/snapshot.h"
#include "ui/collective/inside.h"
#include "ui/panels/faults/faults.h"
#include "ui/panels/parts.h"
#include "ui/panels/timeline/timeline.h"
#include "ui/panels/timeline/timeline_view.h"
#include "ui/panels/timeline/track_sizes.h"
#include "ui/plan/measured.h"
#include "ui/theme/phase_colour.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"
#include "ui/widgets/stretch.h"
#include "ui/widgets/within.h"

namespace shardlens::ui {
namespace {

constexpr float kNameHeight = 18;  // of a run's name above its tracks, if there are several runs
constexpr float kAroundName = 13;  // a block's seam, and its name's margins

/// One frame of the panel: the data, the axis and the place where the tracks are drawn.
struct Frame {
  const Context& context;
  const Tracks& tracks;
  Stretch all, shown;
  ImVec2 min, max;                  ///< the tracks' part of the window, without labels and axis
  float pitch, height;              ///< of a track with its gap, and without
  float scroll;                     ///< pixels scrolled down
  float top = 0;                    ///< of the first track, below `min`: other runs may be above it
  std::string name = {};            ///< of this run, above its tracks; empty if there is only one run
  std::vector<std::string> labels;  ///< [step]; empty if no block has room for a name

  const Program& program() const { return tracks.plan->program; }
  float x(double seconds) const {
    const double share = (seconds - shown.begin) / shown.size();
    return min.x + static_cast<float>(std::clamp(share, -1.0, 2.0) * static_cast<double>(max.x - min.x));
  }
  double seconds(float x_pixels) const { return shown.begin + (x_pixels - min.x) * pixel_seconds(); }
  double pixel_seconds() const { return shown.size() / std::max(1.0f, max.x - min.x); }
  /// The room for a name in a block of that length.
  float name_room(double seconds) const {
    return static_cast<float>(seconds / pixel_seconds()) - context.px(kAroundName);
  }
  float y(size_t rank) const { return min.y + top + static_cast<float>(rank) * pitch - scroll; }
  size_t ranks() const { return tracks.ranks().size(); }
  float bottom() const { return name.empty() ? max.y : y(ranks() - 1) + height; }
};

/// The name of the blocks of each step in view.
std::vector<std::string> labels_for(const Frame& frame) {
  const Context& context = frame.context;
  const Program& program = frame.program();
  const TextStyle style = timeline_text(context, context.fonts.mono, kSmallSize, 0);
  std::vector<std::string> labels(program.steps.size());
  std::vector<float> rooms;  // of a step's blocks
  for (size_t id = 0; id < labels.size(); ++id) {
    const Step& step = program.steps[id];
    if (is_collective(step.op)) continue;  // has no block: see draw_collectives()
    rooms.clear();
    bool in_view = false, is_wide = false;
    for (const auto& rank : frame.tracks.ranks()) {
      if (id >= rank.size()) continue;
      rooms.push_back(frame.name_room(rank[id].seconds()));
      is_wide = is_wide || rooms.back() >= context.px(8);
      in_view =
          in_view || (rank[id].end_seconds > frame.shown.begin && rank[id].begin_seconds < frame.shown.end);
    }
    if (!in_view || !is_wide) continue;
    labels[id] = common_name(names_of(program, step), rooms,
                             [&](const std::string& name) { return text_width(style, name); });
  }
  return labels;
}

/// A step's name. It is drawn last, over the strips and lines of overlapped steps.
struct Name {
  ImVec2 at;
  ImU32 colour;
  std::string words;
};

void draw_compute(const Frame& frame, size_t rank, std::vector<Name>& names) {
  const Context& context = frame.context;
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float top = frame.y(rank);
  const float bottom = top + frame.height;
  const TextStyle text = timeline_text(context, context.fonts.mono, kSmallSize, theme.text);
  ImVec2 selected_min, selected_max;  // outlined after all blocks, or neighbours would cover it
  for (const TrackBlock& block :
       blocks_in(frame.program(), frame.tracks.ranks()[rank], frame.shown, frame.pixel_seconds())) {
    const bool selected =
        context.view.selected_step >= block.first && context.view.selected_step <= block.last;
    const Step& step = frame.program().step(block.first);
    const ImU32 phase = phase_colour(theme, step.phase);
    const ImU32 fill = selected ? phase : mixed(theme.panel, phase, block.joined() ? 0.4f : kComputeTint);
    const float x0 = frame.x(block.begin_seconds);
    const float x1 = std::max(frame.x(block.end_seconds) - context.px(1), x0 + std::max(1.0f, context.px(1)));
    const float rounding = x1 - x0 > context.px(6) ? context.px(2) : 0;
    fill_rect(list, {x0, top}, {x1, bottom}, fill, rounding);
    if (selected) {
      const float half = context.px(1);
      selected_min = {x0 - half, top - half};
      selected_max = {x1 + half, bottom + half};
    }
    const float from = std::max(x0, frame.min.x);
    const float room = std::min(x1 + context.px(1), frame.max.x) - from - context.px(kAroundName);
    const std::string& common = frame.labels[static_cast<size_t>(block.first)];
    if (block.joined() || common.empty() || room < context.px(8)) continue;
    if (text_width(text, common) > frame.name_room(block.end_seconds - block.begin_seconds)) continue;
    // Shortened if the block goes on out of view. Half a pixel more, because sums are rounded.
    const std::string label = fitted(text, common, room + context.px(0.5f));
    if (label != "…")
      names.push_back(
          {{from + context.px(6), top + (frame.height - text.size) / 2}, legible_on(theme, fill), label});
  }
  const float width = selected_max.x - selected_min.x;
  if (width > 0)
    outline_rect(list, selected_min, selected_max, theme.text, width > context.px(8) ? context.px(2) : 0,
                 context.px(2));
}

void draw_holds(const Frame& frame, size_t rank) {
  for (const StepEvent& event : frame.tracks.ranks()[rank]) {
    const double begin = event.begin_seconds - event.held_seconds;
    if (event.held_seconds <= 0 || event.begin_seconds < frame.shown.begin || begin > frame.shown.end)
      continue;
    draw_hold(frame.context, {frame.x(begin), frame.y(rank)},
              {frame.x(event.begin_seconds), frame.y(rank) + frame.height}, {frame.min.x, frame.max.x},
              event.held_seconds);
  }
}

/// Draws, behind a rank's last step, how the run ended: a rank that was lost or failed, and where, in full
/// ink; a rank that waited, in the tint of waiting.
void draw_end(const Frame& frame, size_t rank) {
  if (!frame.tracks.failure) return;
  const Context& context = frame.context;
  const Theme& theme = context.theme;
  const RunFailure& failure = *frame.tracks.failure;
  const std::vector<StepEvent>& events = frame.tracks.ranks()[rank];
  const auto step = static_cast<size_t>(std::max(failure.step, 0));
  const double end = step < events.size() ? events[step].end_seconds
                     : events.empty()     ? frame.all.begin
                                          : events.back().end_seconds;
  const ImVec2 min{std::max(frame.x(end), frame.min.x), frame.y(rank)};
  const ImVec2 max{frame.max.x - context.px(1), frame.y(rank) + frame.height};
  if (max.x - min.x < context.px(8)) return;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const bool struck = is_struck(failure, static_cast<int>(rank));
  std::vector<std::string> words;
  if (struck) {
    fill_rect(list, min, max, theme.card);
    outline_rect(list, min, max, theme.text, context.px(2), std::max(1.0f, context.px(1.5f)));
    const std::string who = fmt::format(ICON_FA_UNLINK "  rank {} ", rank);
    words = {who + fault_place(frame.program(), failure), who + (failure.lost ? "lost" : "failed"),
             ICON_FA_UNLINK};
  } else if (failure.lost) {
    fill_rect(list, min, max, faded(theme.communication, 0.24f));
    const std::string whom =
        failure.ranks.size() == 1 ? fmt::format(" for rank {}", failure.ranks.front()) : "";
    words = {"waits" + whom + ", gives up", "waits"};
  }
  const TextStyle text =
      timeline_text(context, struck ? context.fonts.bold : context.fonts.body, kSmallSize, theme.text);
  if (frame.height < text.size) return;
  draw_text(list, {min.x + context.px(6), min.y + (frame.height - text.size) / 2}, text,
            longest_fitting(text, words, max.x - min.x - context.px(12)));
}

/// Draws waiting, transfer, and the line that joins the ranks where the last one arrived. A transfer is never
/// narrower than two pixels.
void draw_collectives(const Frame& frame) {
  const Context& context = frame.context;
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const size_t ranks = frame.tracks.ranks().size();
  for (const Step& step : frame.program().steps) {
    if (!is_collective(step.op)) continue;
    const size_t id = static_cast<size_t>(step.id);
    const bool selected = step.id == context.view.selected_step;
    double meeting = -1;
    for (size_t rank = 0; rank < ranks; ++rank) {
      if (id >= frame.tracks.ranks()[rank].size()) continue;
      const StepEvent& event = frame.tracks.ranks()[rank][id];
      if (event.end_seconds < frame.shown.begin || event.begin_seconds > frame.shown.end) continue;
      meeting = std::max(meeting, event.arrival_seconds);
      const auto [top, bottom] = part_of_track(lane_of(step), frame.y(rank), frame.height);
      const float arrival = frame.x(event.arrival_seconds);
      const float met = frame.x(event.all_arrived_seconds);
      const float end = std::max(frame.x(event.end_seconds) - context.px(1), met + context.px(2));
      fill_rect(list, {arrival, top}, {met, bottom},
                faded(theme.communication, selected ? 0.40f : kWaitingTint));
      fill_rect(list, {met, top}, {end, bottom}, faded(theme.communication, selected ? 1.0f : kTransferTint),
                end - met > context.px(6) ? context.px(2) : 0);
      if (selected) {
        const float half = context.px(1);
        outline_rect(list, {arrival - half, top - half}, {end + half, bottom + half}, theme.text,
                     context.px(2), context.px(2));
      }
      const TextStyle text =
          timeline_text(context, context.fonts.mono, kSmallSize, legible_on(theme, theme.communication));
      const std::string name = to_string(step.op);
      if (text.size <= bottom - top && text_width(text, name) + context.px(12) < end - met)
        draw_text(list, {met + context.px(6), (top + bottom - text.size) / 2}, text, name);
    }
    if (meeting >= frame.shown.begin && meeting <= frame.shown.end && ranks > 1) {
      const float x = std::round(frame.x(meeting));
      draw_line(list, {x, frame.y(0) - context.px(2)}, {x, frame.y(ranks - 1) + frame.height + context.px(2)},
                theme.communication, std::max(1.0f, context.px(1.5f)));
    }
  }
}

/// The place where the selected step ends on the slowest rank; nullopt if it is out of view.
std::optional<float> playhead_of(const Frame& frame) {
  const Context& context = frame.context;
  StepId step = context.view.selected_step;
  if (step < 0) step = static_cast<StepId>(context.snapshot.position) - 1;
  double at = -1;
  for (const auto& rank : frame.tracks.ranks()) {
    if (step >= 0 && step < static_cast<StepId>(rank.size()))
      at = std::max(at, rank[static_cast<size_t>(step)].end_seconds);
  }
  if (at < frame.shown.begin || at > frame.shown.end) return std::nullopt;
  return frame.x(at);
}

void draw_playhead(const Frame& frame) {
  const std::optional<float> x = playhead_of(frame);
  // Its head is on the axis, or below a run's name, clear of the words.
  const float top =
      frame.name.empty() ? frame.min.y - frame.context.px(8) : frame.y(0) + frame.context.px(kPlayheadWide);
  if (x) draw_playhead_at(frame.context, *x, top, frame.bottom());
}

void draw_axis(const Frame& frame) {
  const Context& context = frame.context;
  const float top = frame.min.y - context.px(kAxisHeight);
  const int most = std::max(2, static_cast<int>((frame.max.x - frame.min.x) / context.px(120)));
  const std::optional<float> playhead = frame.name.empty() ? playhead_of(frame) : std::nullopt;
  const std::vector<float> marks(playhead ? 1 : 0, playhead.value_or(0));
  for (const double tick : round_ticks(frame.shown, most))
    draw_axis_tick(context, frame.x(tick), top, frame.max.y, frame.max.x, format_tick(tick), marks);
}

TextStyle in_bold(const Context& context, TextStyle style) {
  style.font = context.fonts.bold;
  return style;
}

void draw_labels(const Frame& frame) {
  const Context& context = frame.context;
  const float left = frame.min.x - context.px(kTrackLabelWidth);
  const TextStyle text = timeline_text(context, context.fonts.body, kSmallSize, context.theme.text);
  if (!frame.name.empty()) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const TextStyle style = in_bold(context, text);
    const ImVec2 at{left, frame.y(0) - context.px(kNameHeight)};
    // It has a ground of its own, because the axis' lines pass behind it.
    fill_rect(list, at, {at.x + text_width(style, frame.name) + context.px(6), at.y + style.size},
              context.theme.panel);
    draw_text(list, at, style, frame.name);
  }
  for (size_t rank = 0; rank < frame.tracks.ranks().size(); ++rank)
    draw_rank_name(context, {left, frame.y(rank)}, frame.height, rank);
}

void show_tooltip(const Frame& frame, size_t rank, StepId id) {
  const Step& step = frame.program().step(id);
  const StepEvent& event = frame.tracks.ranks()[rank][static_cast<size_t>(id)];
  if (!begin_fact_tooltip(frame.context, step.name, fmt::format("rank {}, {}", rank, to_string(step.phase))))
    return;
  if (!step.equation.empty()) ImGui::TextUnformatted(step.equation.c_str());
  const double clock_step = frame.tracks.clock_step;
  const std::string duration = measured_text(event.seconds(), clock_step);
  if (event.held_seconds > 0)
    ImGui::Text("late   %s before it, on purpose", format_seconds(event.held_seconds).c_str());
  ImGui::Text("begin  %s", format_seconds(event.begin_seconds).c_str());
  ImGui::Text("took   %s%s", duration.c_str(),
              !frame.tracks.measured  ? ", estimated"
              : frame.tracks.replayed ? ", replayed"
              : !frame.name.empty()   ? ", measured here"
                                      : "");
  if (event.timed_together > 1)
    ImGui::Text("a share, estimated: %d steps were one call", event.timed_together);
  if (step.overlapped) ImGui::TextUnformatted("overlapped with the steps that follow");
  if (is_collective(step.op)) {
    const std::string shared =
        frame.context.snapshot.result ? core_sharing_words(*frame.context.snapshot.result) : "";
    ImGui::Text("wait   %s", measured_text(event.wait_seconds(), clock_step).c_str());
    if (frame.tracks.measured && !shared.empty()) ImGui::TextUnformatted(shared.c_str());
    ImGui::Text("moved  %s in %s", bytes_text(static_cast<double>(event.sent_bytes)).c_str(),
                measured_text(event.transfer_seconds(), clock_step).c_str());
    ImGui::TextUnformatted(frame.context.view.selected_step == id ? "click: look inside"
                                                                  : "click, and click again to look inside");
  } else if (event.flops > 0 && event.seconds() > 0 && event.seconds() >= clock_step) {
    ImGui::Text("speed  %s", format_flops(static_cast<double>(event.flops) / event.seconds()).c_str());
  }
  end_fact_tooltip();
}

/// If the mouse is between two steps of a rank: says how long nothing ran there, and why if known.
void explain_gap(const Frame& frame, size_t rank) {
  const std::optional<Stretch> gap =
      gap_at(frame.program(), frame.tracks.ranks()[rank], frame.seconds(ImGui::GetIO().MousePos.x));
  if (!gap || !frame.tracks.measured) return;
  const int ranks = frame.program().tp() * frame.program().dp(), cores = available_cores();
  const bool on_cpu = frame.program().settings.backend == BackendChoice::Cpu;
  const bool shares = on_cpu && !frame.tracks.replayed && ranks > cores;
  const auto& delays = frame.program().settings.delays;
  const bool on_purpose = std::any_of(delays.begin(), delays.end(), [&](const Delay& delay) {
    return delay.rank == static_cast<int>(rank) && gap->size() * 1e3 >= delay.milliseconds / 2;
  });
  const std::string why = on_purpose ? ": it is late on purpose"
                          : shares ? fmt::format(": {} ranks take turns on {}", ranks, counted(cores, "core"))
                                   : "";
  tooltip(frame.context, fmt::format("Rank {} did nothing for {}, between two steps{}", rank,
                                     format_seconds(gap->size()), why));
}

void follow_selection(const Frame& frame) {
  ViewState& view = frame.context.view;
  const StepId step = view.selected_step;
  if (!view.scroll_to_selection || step < 0 || frame.shown == frame.all) return;
  const auto& events = frame.tracks.ranks().front();
  if (step >= static_cast<StepId>(events.size())) return;
  const StepEvent& event = events[static_cast<size_t>(step)];
  if (event.end_seconds > frame.shown.begin && event.begin_seconds < frame.shown.end) return;
  const double begin = (event.begin_seconds + event.end_seconds - frame.shown.size()) / 2;
  const Stretch moved = clamped({begin, begin + frame.shown.size()}, frame.all);
  view.of<TimelineView>().begin_seconds = moved.begin;
  view.of<TimelineView>().end_seconds = moved.end;
}

/// Handles the mouse over the tracks: the wheel zooms about the mouse (with Shift it scrolls the ranks), a
/// drag pans, a click selects. `runs` differ only in the place of their tracks.
void handle_mouse(const std::vector<Frame>& runs, float most_scroll) {
  const Frame& frame = runs.front();
  const Context& context = frame.context;
  ViewState& view = context.view;
  const ImGuiIO& io = ImGui::GetIO();
  ImGui::SetCursorScreenPos(
      {frame.min.x - context.px(kTrackLabelWidth), frame.min.y - context.px(kAxisHeight)});
  ImGui::InvisibleButton("tracks", {frame.max.x - frame.min.x + context.px(kTrackLabelWidth),
                                    std::max(1.0f, frame.max.y - frame.min.y + context.px(kAxisHeight))});
  ImGui::SetItemKeyOwner(ImGuiKey_MouseWheelY);
  const bool hovered = ImGui::IsItemHovered() && !view.covered();
  const bool over_labels = io.MousePos.x < frame.min.x;
  const auto show = [&view](Stretch shown) {
    view.of<TimelineView>().begin_seconds = shown.begin;
    view.of<TimelineView>().end_seconds = shown.end;
  };
  if (hovered && io.MouseWheel != 0) {
    if (most_scroll > 0 && (over_labels || io.KeyShift)) {
      ImGui::SetScrollY(std::clamp(frame.scroll - io.MouseWheel * frame.pitch, 0.0f, most_scroll));
    } else {
      show(zoomed(frame.shown, std::pow(kZoomPerNotch, io.MouseWheel), frame.seconds(io.MousePos.x),
                  frame.all, kSmallestStretchSeconds));
    }
  }
  if (hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) show({0, 0});
  if (ImGui::IsItemActive() && ImGui::IsMouseDragging(ImGuiMouseButton_Left)) {
    show(panned(frame.shown, -static_cast<double>(io.MouseDelta.x / (frame.max.x - frame.min.x)), frame.all));
    ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
    return;
  }
  if (!hovered || io.MousePos.y < frame.min.y) return;
  const auto under = std::find_if(runs.begin(), runs.end(), [&](const Frame& run) {
    return io.MousePos.y >= run.y(0) && io.MousePos.y < run.y(run.ranks());
  });
  if (under == runs.end()) return;
  const auto rank = static_cast<size_t>((io.MousePos.y - under->y(0)) / under->pitch);
  if (rank >= under->ranks()) return;
  if (over_labels) return point_at_rank_name(context, static_cast<int>(rank), ImGui::IsItemDeactivated());
  const auto in_lane = [&](Lane lane) {
    const bool pointed_at = io.MousePos.y >= part_of_track(lane, under->y(rank), under->height).top;
    return !pointed_at ? -1
                       : step_at(frame.program(), under->tracks.ranks()[rank], lane,
                                 frame.seconds(io.MousePos.x), 3 * frame.pixel_seconds());
  };
  const StepId beside = in_lane(Lane::Overlapped), step = beside >= 0 ? beside : in_lane(Lane::Own);
  if (step < 0) return explain_gap(*under, rank);
  show_tooltip(*under, rank, step);
  const ImVec2 drag = ImGui::GetMouseDragDelta(ImGuiMouseButton_Left, 0);
  // A double click shows the whole run: the step under the mouse is then not the one that was clicked.
  const bool again = io.MouseClickedLastCount[ImGuiMouseButton_Left] > 1;
  if (ImGui::IsItemDeactivated() && std::abs(drag.x) < io.MouseDragThreshold && !again) {
    if (view.selected_step == step && is_collective(frame.program().step(step).op))
      return look_inside(context, step);  // a second click
    show_step(view, frame.program(), step);
  }
}

}  // namespace

void draw_tracks(const Context& context, const Tracks& tracks) {
  draw_tracks(context, {NamedTracks{{}, tracks}});
}

void draw_tracks(const Context& context, const std::vector<NamedTracks>& runs) {
  ImGui::BeginChild("tracks of all ranks", {0, 0}, ImGuiChildFlags_None, ImGuiWindowFlags_NoScrollWithMouse);
  const ImVec2 origin = ImGui::GetWindowPos();
  const ImVec2 size = ImGui::GetWindowSize();
  const float name = runs.size() > 1 ? context.px(kNameHeight) : 0;
  float ranks = 0;
  Stretch all;
  for (const NamedTracks& run : runs) {
    ranks += static_cast<float>(run.tracks.ranks().size());
    all.begin = axis_of(runs.front().tracks).begin;
    all.end = std::max(all.end, axis_of(run.tracks).end);
  }
  const float names = name * static_cast<float>(runs.size());
  const float room = size.y - context.px(kAxisHeight) - names;
  const float pitch =
      within(room / ranks, context.px(kLeastTrackHeight + kLeastGap), context.px(kTrackHeight + kTrackGap));
  const float gap =
      pitch >= context.px(kTrackHeight + kTrackGap) ? context.px(kTrackGap) : context.px(kLeastGap);
  const float most_scroll = std::max(0.0f, pitch * ranks - room);
  ViewState& view = context.view;
  if (view.fit_timeline) view.of<TimelineView>().begin_seconds = view.of<TimelineView>().end_seconds = 0;
  const float bar = most_scroll > 0 ? ImGui::GetStyle().ScrollbarSize : 0;
  std::vector<Frame> frames;
  float top = 0;
  for (const NamedTracks& run : runs) {
    top += name;
    frames.push_back(
        {.context = context,
         .tracks = run.tracks,
         .all = all,
         .shown = clamped({view.of<TimelineView>().begin_seconds, view.of<TimelineView>().end_seconds}, all),
         .min = {origin.x + context.px(kTrackLabelWidth), origin.y + context.px(kAxisHeight)},
         .max = {origin.x + size.x - bar, origin.y + size.y},
         .pitch = pitch,
         .height = pitch - gap,
         .scroll = most_scroll > 0 ? ImGui::GetScrollY() : 0,
         .top = top,
         .name = runs.size() > 1 ? run.name : std::string(),
         .labels = {}});
    frames.back().labels = labels_for(frames.back());
    top += pitch * static_cast<float>(run.tracks.ranks().size());
  }
  const Frame& first = frames.front();
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_axis(first);
  for (const Frame& frame : frames) {
    list->PushClipRect({frame.min.x - context.px(kTrackLabelWidth), frame.min.y - context.px(2)}, frame.max,
                       true);
    draw_labels(frame);
    list->PopClipRect();
    list->PushClipRect({frame.min.x - context.px(2), frame.min.y - context.px(3)}, frame.max, true);
    std::vector<Name> steps;
    for (size_t rank = 0; rank < frame.ranks(); ++rank) {
      if (frame.y(rank) < frame.max.y && frame.y(rank) + frame.height > frame.min.y) {
        draw_compute(frame, rank, steps);
        draw_holds(frame, rank);
        draw_end(frame, rank);
      }
    }
    draw_collectives(frame);
    for (const Name& step : steps)
      draw_text(list, step.at, timeline_text(context, context.fonts.mono, kSmallSize, step.colour),
                step.words);
    if (const auto seen = seen_break(context); seen && frame.name.empty()) {
      const float bottom =
          std::min(frame.y(frame.ranks() - 1) + frame.height + context.px(5), frame.max.y - context.px(4));
      draw_wrong_times(
          context, *seen, frame.tracks, [&](double seconds) { return frame.x(seconds); }, frame.min.y,
          bottom);
    }
    list->PopClipRect();
    draw_playhead(frame);
  }
  follow_selection(first);
  handle_mouse(frames, most_scroll);
  ImGui::SetCursorScreenPos(
      {origin.x, origin.y - ImGui::GetScrollY() + context.px(kAxisHeight) + names + pitch * ranks - 1});
  ImGui::Dummy({1, 1});  // makes the window as high as the tracks, so that it scrolls when they do not fit
  ImGui::EndChild();
}

}  // namespace shardlens::ui
