// Single events of a recording: compute in the tint of its phase, waiting in faint and transfer in solid
// amber, a line at the moment when the last rank of a collective arrived. Steps narrower than a pixel are
// drawn together.
#include <imgui.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "engine/program/collective_group.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "ui/panels/timeline/history_frame.h"
#include "ui/theme/phase_colour.h"
#include "ui/widgets/within.h"

namespace shardlens::ui {
namespace {

constexpr float kLeastLabel = 28;       // pixels of a block that may be named
constexpr float kAroundEventName = 12;  // pixels of a block beside its name
constexpr float kMeetingsApart = 12;    // pixels for each line that joins ranks

struct Label {
  float x0, x1, y;
  float room;  ///< for a name, if all of the block were in view
  StepId step;
  ImU32 ground;
};

/// Collects everything to draw, so that many rectangles are drawn at once.
struct Drawn {
  std::vector<PlainRect> compute, waits, transfers;
  std::vector<Label> labels;
  ImVec2 selected_min, selected_max;
};

/// A rank's arrival at a collective.
struct Arrival {
  StepId step = 0;
  int group = 0;  ///< the first rank of its group
  int rank = 0;
  int64_t arrived_ns = 0;
};

/// Ranks `first` to `last` of a group, as far as they are in view, and when the last of them arrived.
struct Meeting {
  int64_t arrived_ns = 0;
  int first = 0, last = 0;
};

/// Adds the meetings that follow from the arrivals of one pass, and clears the arrivals.
void add_meetings(std::vector<Arrival>& arrivals, std::vector<Meeting>& meetings) {
  const auto place = [](const Arrival& one) { return std::tuple(one.step, one.group, one.rank); };
  std::sort(arrivals.begin(), arrivals.end(),
            [&](const Arrival& a, const Arrival& b) { return place(a) < place(b); });
  for (size_t i = 0; i < arrivals.size(); ++i) {
    const Arrival& one = arrivals[i];
    if (i == 0 || arrivals[i - 1].step != one.step || arrivals[i - 1].group != one.group)
      meetings.push_back({0, one.rank, one.rank});
    meetings.back().arrived_ns = std::max(meetings.back().arrived_ns, one.arrived_ns);
    meetings.back().last = one.rank;
  }
  arrivals.clear();
}

void add_event(const HistoryFrame& frame, const HistoryPass& pass, int rank, StepId id,
               const EventParts& parts, Drawn& drawn) {
  const Context& context = frame.context;
  const Theme& theme = context.theme;
  const Step& step = frame.program.step(id);
  const auto [top, bottom] = part_of_track(lane_of(step), frame.y(rank), frame.height);
  const bool selected = frame.is_selected(pass, id);
  const float x0 = std::max(frame.x_of_ns(parts.begin_ns), frame.min.x - 4);
  const float arrived = within(frame.x_of_ns(parts.arrived_ns), x0, frame.max.x + 4);
  const float met = within(frame.x_of_ns(parts.met_ns), x0, frame.max.x + 4);
  const float x1 = within(frame.x_of_ns(parts.end_ns), x0, frame.max.x + 4);
  const bool meets = is_collective(step.op);
  const float own_end = meets ? arrived : x1;
  const auto room = [&](int64_t begin_ns, int64_t end_ns) {
    return static_cast<float>(static_cast<double>(end_ns - begin_ns) * 1e-9 / frame.pixel_seconds()) -
           context.px(kAroundEventName);
  };
  if (own_end - x0 >= 1 || !meets) {
    const ImU32 phase = phase_colour(theme, step.phase);
    const bool narrow = own_end - x0 < 1;
    const ImU32 fill = selected ? phase : mixed(theme.panel, phase, narrow ? 0.4f : kComputeTint);
    const float right = narrow ? x0 + 1 : std::max(own_end - context.px(1), x0 + 1);
    PlainRect* before = drawn.compute.empty() ? nullptr : &drawn.compute.back();
    // Narrow neighbours become one block.
    if (narrow && before && before->min.y == top && before->colour == fill && x0 - before->max.x < 1)
      before->max.x = std::max(before->max.x, right);
    else
      drawn.compute.push_back({{x0, top}, {right, bottom}, fill});
    if (own_end - x0 > context.px(kLeastLabel))
      drawn.labels.push_back(
          {x0, own_end, top, room(parts.begin_ns, meets ? parts.arrived_ns : parts.end_ns), id, fill});
  }
  if (meets) {
    if (met - arrived >= 1)
      drawn.waits.push_back(
          {{arrived, top}, {met, bottom}, faded(theme.communication, selected ? 0.40f : kWaitingTint)});
    const float end = std::max(x1 - context.px(1), met + context.px(1));
    const ImU32 solid = faded(theme.communication, selected ? 1.0f : kTransferTint);
    PlainRect* before = drawn.transfers.empty() ? nullptr : &drawn.transfers.back();
    if (before && before->min.y == top && before->colour == solid && met - before->max.x < 1 && end - met < 2)
      before->max.x = std::max(before->max.x, end);
    else
      drawn.transfers.push_back({{met, top}, {end, bottom}, solid});
    if (end - met > context.px(kLeastLabel) && !step.overlapped)
      drawn.labels.push_back({met, x1, top, room(parts.met_ns, parts.end_ns), id, theme.communication});
  }
  if (selected) {
    const float half = context.px(1);
    drawn.selected_min = {(meets ? arrived : x0) - half, top - half};
    drawn.selected_max = {std::max(x1, x0 + 1) + half, bottom + half};
  }
}

void draw_labels(const HistoryFrame& frame, const std::vector<Label>& labels) {
  const Context& context = frame.context;
  ImDrawList* list = ImGui::GetWindowDrawList();
  TextStyle text = timeline_text(context, context.fonts.mono, kSmallSize, 0);
  if (frame.height < text.size) return;
  const auto width = [&text](const std::string& name) { return text_width(text, name); };
  std::map<StepId, std::vector<float>> rooms;
  for (const Label& label : labels) rooms[label.step].push_back(label.room);
  std::map<StepId, std::string> names;
  for (const auto& [step, of_blocks] : rooms)
    names[step] = common_name(names_of(frame.program, frame.program.step(step)), of_blocks, width);
  for (const Label& label : labels) {
    const std::string& name = names[label.step];
    const float from = std::max(label.x0, frame.min.x);
    const float room = std::min(label.x1, frame.max.x) - from - context.px(kAroundEventName);
    if (name.empty() || width(name) > label.room || room < context.px(8)) continue;
    const std::string shown = fitted(text, name, room + context.px(0.5f));  // half a pixel: sums are rounded
    if (shown == "…") continue;
    text.colour = legible_on(context.theme, label.ground);
    draw_text(list, {from + context.px(6), label.y + (frame.height - text.size) / 2}, text, shown);
  }
}

/// Draws a line where the last rank of a group arrived, from its first rank to its last. Draws none if they
/// are too many to tell apart.
void draw_meetings(const HistoryFrame& frame, const std::vector<Meeting>& meetings) {
  if (static_cast<float>(meetings.size()) * frame.context.px(kMeetingsApart) > frame.max.x - frame.min.x)
    return;
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (const Meeting& meeting : meetings) {
    if (meeting.first == meeting.last) continue;
    const float x = std::round(frame.x_of_ns(meeting.arrived_ns));
    if (x < frame.min.x || x > frame.max.x) continue;
    draw_line(list, {x, frame.y(meeting.first) - frame.context.px(1)},
              {x, frame.y(meeting.last) + frame.height + frame.context.px(1)},
              frame.context.theme.communication, std::max(1.0f, frame.context.px(1.5f)));
  }
}

/// Draws where ranks were late on purpose in the shown pass. Only that pass has this data.
void draw_late_stretches(const HistoryFrame& frame) {
  const Result* shown = frame.context.replay.shown ? frame.context.replay.shown->result.get() : nullptr;
  if (shown == nullptr) return;
  for (int rank = 0; rank < frame.tracks && rank < static_cast<int>(shown->events.size()); ++rank) {
    if (!frame.in_view(rank)) continue;
    for (const StepEvent& event : shown->events[static_cast<size_t>(rank)]) {
      if (event.held_seconds <= 0) continue;
      const double end = frame.context.replay.pass_begin_seconds + event.begin_seconds;
      draw_hold(frame.context, {frame.x(end - event.held_seconds), frame.y(rank)},
                {frame.x(end), frame.y(rank) + frame.height}, {frame.min.x, frame.max.x}, event.held_seconds);
    }
  }
}

}  // namespace

void draw_history_events(const HistoryFrame& frame) {
  const int64_t from = frame.ns(frame.shown.begin), until = frame.ns(frame.shown.end);
  Drawn drawn;
  std::vector<Arrival> arrivals;
  std::vector<Meeting> meetings;
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (const std::shared_ptr<const HistoryPass>& pass : frame.slice()->passes) {
    if (pass->end_ns() < from || pass->begin_ns > until) continue;
    for (int rank = 0; rank < frame.tracks; ++rank) {
      const std::vector<EventTimes>& track = pass->events[static_cast<size_t>(rank)];
      const size_t steps = std::min(track.size(), frame.program.steps.size());
      for (size_t id = 0; id < steps; ++id) {
        const EventTimes& event = track[id];
        if (event.end_ns < from || event.begin_ns > until) continue;
        const Step& step = frame.program.steps[id];
        const bool meets = is_collective(step.op);
        if (!meets && !frame.in_view(rank)) continue;
        const EventParts parts = parts_of(step, event);
        if (meets)
          arrivals.push_back(
              {step.id, first_rank_of_group(frame.program, step, rank), rank, parts.arrived_ns});
        if (frame.in_view(rank)) add_event(frame, *pass, rank, step.id, parts, drawn);
      }
    }
    add_meetings(arrivals, meetings);
  }
  fill_rects(list, drawn.compute);
  fill_rects(list, drawn.waits);
  fill_rects(list, drawn.transfers);
  draw_late_stretches(frame);
  draw_meetings(frame, meetings);
  draw_labels(frame, drawn.labels);
  const float width = drawn.selected_max.x - drawn.selected_min.x;
  if (width > 0)
    outline_rect(list, drawn.selected_min, drawn.selected_max, frame.context.theme.text,
                 width > frame.context.px(8) ? frame.context.px(2) : 0, frame.context.px(2));
}

}  // namespace shardlens::ui
