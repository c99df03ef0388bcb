// The tracks of a recording with their axis, the names of its passes, the notes, and the mouse over them.
#include <fmt/format.h>
#include <icons_font_awesome_4.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "engine/runtime/recordings/history_reader.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "ui/commands/walk.h"
#include "ui/outbox.h"
#include "ui/panels/parts.h"
#include "ui/panels/timeline/history_frame.h"
#include "ui/panels/timeline/history_view.h"
#include "ui/panels/timeline/track_sizes.h"
#include "ui/plan/shown_plan.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"
#include "ui/widgets/stretch.h"
#include "ui/widgets/tape.h"
#include "ui/widgets/within.h"

namespace shardlens::ui {
namespace {

constexpr float kMapHeight = 26, kPassHeight = 18;
constexpr float kTracksBeforeMap = 4;  ///< so many have room before the map has
constexpr double kMostRects = 8'000;  // in all columns together: so many a software renderer can draw in time
constexpr float kEventPixels = 2;     // mean width of an event, at least, if events are drawn
constexpr float kFlag = 9;            // size of a note's flag on the axis
constexpr float kLeastPassLabel = 84, kLeastPassLine = 5;

std::array<ImU32, kBandCount> band_colours(const Theme& theme) {
  return {mixed(theme.panel, theme.forward, kComputeTint), mixed(theme.panel, theme.backward, kComputeTint),
          faded(theme.communication, kTransferTint), faded(theme.communication, kWaitingTint)};
}

/// The least width of a column such that at most kMostRects are drawn.
double least_column_pixels(float width, int tracks) {
  const double rects = static_cast<double>(width) * tracks * (kBandCount - 1);
  return std::max(1.0, std::ceil(rects / kMostRects));
}

/// The pass in which the axis counts times, if little else is in view; null: times count from the recording's
/// begin.
const HistoryPass* pass_of_axis(const HistoryFrame& frame) {
  if (!frame.slice() || !frame.slice()->has_passes) return nullptr;
  const auto pass = pass_at(*frame.slice(), (frame.shown.begin + frame.shown.end) / 2);
  const bool alone = pass && frame.shown.size() <= 1.5e-9 * static_cast<double>(pass->ns);
  return alone ? pass.get() : nullptr;
}

/// As many digits as tell neighbouring ticks apart, in the unit of the whole axis.
std::string tick_text(double tick, double apart, double furthest) {
  const auto [unit, name] = furthest >= 1      ? std::pair{1.0, "s"}
                            : furthest >= 1e-3 ? std::pair{1e-3, "ms"}
                                               : std::pair{1e-6, "µs"};
  const int digits = static_cast<int>(std::clamp(std::ceil(-std::log10(apart / unit) - 1e-6), 0.0, 9.0));
  return fmt::format("{:.{}f} {}", tick / unit, digits, name);
}

void draw_axis(const HistoryFrame& frame) {
  const Context& context = frame.context;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const TextStyle style = timeline_text(context, context.fonts.body, kSmallSize, context.theme.dim);
  const float top = frame.min.y - context.px(kAxisHeight + kPassHeight);
  const int most = std::max(2, static_cast<int>((frame.max.x - frame.min.x) / context.px(120)));
  const HistoryPass* pass = pass_of_axis(frame);
  const double zero = pass ? static_cast<double>(pass->begin_ns) * 1e-9 : 0;
  const Stretch named{frame.shown.begin - zero, frame.shown.end - zero};
  const std::vector<double> ticks = round_ticks(named, most);
  std::vector<float> flags;
  if (context.replay.notes)
    for (const ReplayNote& note : *context.replay.notes)
      flags.push_back(frame.x(note.note.seconds) + context.px(kFlag / 2));
  for (const double tick : ticks) {
    const double apart = ticks.size() > 1 ? ticks[1] - ticks[0] : frame.shown.size();
    const std::string text = tick == 0 ? "0" : tick_text(tick, apart, std::abs(named.end));
    draw_axis_tick(context, frame.x(tick + zero), top, frame.max.y, frame.max.x, text, flags);
  }
  const std::string of = pass ? fmt::format("pass {}", grouped_text(pass->pass)) : "recording";
  draw_text(list, {frame.min.x - context.px(kTrackLabelWidth), top + context.px(2)}, style, of);
}

/// "pass 12 · loss 3.21" from the fullest form to the shortest.
std::vector<std::string> pass_names(const HistoryPass& pass) {
  const std::string number = grouped_text(pass.pass);
  std::vector<std::string> names{"pass " + number, number};
  if (pass.loss)
    names.insert(names.begin(), fmt::format("pass {} \u00B7 loss {}", number, format_value(*pass.loss)));
  return names;
}

/// Draws where passes begin, and their names if there is room: of each, or of every second, fifth, tenth…
void draw_passes(const HistoryFrame& frame) {
  if (!frame.slice() || !frame.slice()->has_passes) return;
  const Context& context = frame.context;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const TextStyle style = timeline_text(context, context.fonts.body, kSmallSize, context.theme.text);
  const auto& passes = frame.slice()->passes;
  double length = 0;
  for (const auto& pass : passes) length += static_cast<double>(pass->ns) * 1e-9;
  if (passes.empty() || length <= 0) return;
  const double pixels = length / static_cast<double>(passes.size()) / frame.pixel_seconds();
  int64_t every = 1;
  for (const int64_t factor : {2, 5, 10, 20, 50, 100, 200, 500})
    if (static_cast<double>(every) * pixels < context.px(kLeastPassLabel)) every = factor;
  const float top = frame.min.y - context.px(kPassHeight);
  const bool paper = Tape::current() != nullptr;
  const float playhead = frame.x(context.replay.seconds);
  float free = frame.min.x;  // right of the last name: no line may cut it
  for (size_t i = 0; i < passes.size(); ++i) {
    const HistoryPass& pass = *passes[i];
    const float x0 = frame.x_of_ns(pass.begin_ns), x1 = frame.x_of_ns(pass.end_ns());
    if (x1 < frame.min.x || x0 > frame.max.x) continue;
    const bool named = pass.pass % every == 0;
    if (pass.pass == context.replay.pass && !paper)
      fill_rect(list, {std::max(x0, frame.min.x), top},
                {std::min(x1, frame.max.x), frame.min.y - context.px(2)},
                faded(context.theme.forward, 0.25f));
    if (x0 >= frame.min.x && (named || pixels >= context.px(kLeastPassLine)))
      draw_line(list, {std::round(x0), named && x0 >= free ? top : frame.min.y},
                {std::round(x0), frame.max.y}, context.theme.line, std::max(1.0f, context.px(1)));
    if (!named) continue;
    const float begin = std::max(x0, frame.min.x) + context.px(5);
    const auto next = std::find_if(passes.begin() + static_cast<std::ptrdiff_t>(i) + 1, passes.end(),
                                   [every](const auto& other) { return other->pass % every == 0; });
    float end = frame.max.x + context.px(4);  // each name's width includes this gap
    if (next != passes.end()) end = std::min(end, frame.x_of_ns((*next)->begin_ns) + context.px(5));
    for (const std::string& name : pass_names(pass)) {
      const float width = text_width(style, name) + context.px(4);
      float from = begin;
      const float under = context.px(kPlayheadWide + 3);  // no name is under the playhead's head
      if (!paper && from < playhead + under && from + width > playhead - under) {
        from = playhead + under;
        // Only the name of its own pass may be beside the playhead.
        if (pass.pass != context.replay.pass && from > x1) continue;
      }
      if (from + width > end) continue;
      draw_text(list, {from, top}, style, name);
      free = from + width;
      break;
    }
  }
}

void draw_track_names(const HistoryFrame& frame) {
  const float left = frame.min.x - frame.context.px(kTrackLabelWidth);
  for (int rank = 0; rank < frame.tracks; ++rank)
    if (frame.in_view(rank))
      draw_rank_name(frame.context, {left, frame.y(rank)}, frame.height, static_cast<size_t>(rank));
}

/// Draws the ground behind the tracks. Where it is visible, a rank was idle.
void draw_grounds(const HistoryFrame& frame) {
  std::vector<PlainRect> grounds;
  const float left = std::max(frame.min.x, frame.x(0)), right = std::min(frame.max.x, frame.x(frame.all.end));
  for (int rank = 0; rank < frame.tracks; ++rank)
    if (frame.in_view(rank))
      grounds.push_back(
          {{left, frame.y(rank)}, {right, frame.y(rank) + frame.height}, frame.context.theme.card});
  fill_rects(ImGui::GetWindowDrawList(), grounds);
}

/// Draws the replay's position.
void draw_playhead(const HistoryFrame& frame) {
  const Context& context = frame.context;
  const double at = context.replay.seconds;
  if (!context.replay.is_open() || at < frame.shown.begin || at > frame.shown.end) return;
  draw_playhead_at(context, frame.x(at), frame.min.y - context.px(8), frame.max.y);
}

/// Draws the flags of notes on the axis. Returns the note under the mouse, or null.
const ReplayNote* draw_notes_on(const HistoryFrame& frame) {
  const Context& context = frame.context;
  if (!context.replay.notes) return nullptr;
  const ReplayNote* under = nullptr;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float top = frame.min.y - context.px(kAxisHeight + kPassHeight), high = context.px(kFlag);
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  for (const ReplayNote& note : *context.replay.notes) {
    if (note.note.seconds < frame.shown.begin || note.note.seconds > frame.shown.end) continue;
    const float x = std::round(frame.x(note.note.seconds));
    draw_line(list, {x, top}, {x, frame.min.y - context.px(kPassHeight)}, context.theme.text,
              std::max(1.0f, context.px(1)));
    fill_triangle(list, {x, top}, {x + high, top + high / 2}, {x, top + high}, context.theme.text);
    if (mouse.x >= x - context.px(3) && mouse.x <= x + context.px(10) && mouse.y >= top &&
        mouse.y < frame.min.y - context.px(kPassHeight))
      under = &note;
  }
  return under;
}

std::string share_text(int64_t part, int64_t of) {
  return format_percent(of > 0 ? static_cast<double>(part) / static_cast<double>(of) : 0);
}

/// Shows the parts of a column's time.
void show_column_tooltip(const HistoryFrame& frame, int rank, double seconds) {
  const HistorySlice* slice = frame.slice();
  const bool covered = slice && frame.ns(seconds) >= slice->begin_ns() && frame.ns(seconds) < slice->end_ns();
  if (!covered) slice = frame.history().whole.get();
  if (!slice) return;
  const int64_t width =
      std::max(column_ns(frame.pixel_seconds(), least_column_pixels(frame.max.x - frame.min.x, frame.tracks)),
               bucket_ns(slice->level));
  const int64_t begin = frame.ns(seconds) / width * width;
  const TimeColumns columns = columns_of(*slice, static_cast<size_t>(rank), begin, begin + width, width);
  if (columns.sums.empty()) return;
  const TrackBucket& sum = columns.sums.front();
  const auto pass = slice->has_passes ? pass_at(*slice, seconds) : nullptr;
  const auto time = [](int64_t ns) { return format_seconds(static_cast<double>(ns) * 1e-9); };
  if (!begin_fact_tooltip(frame.context, pass ? pass_names(*pass).front() : time(begin),
                          fmt::format("rank {}, {}", rank, time(width))))
    return;
  const int64_t busy = sum.forward_ns + sum.backward_ns + sum.transfer_ns + sum.wait_ns;
  // As in the drawn column, overlapped steps take part of its height.
  const int64_t all = std::max(width, busy);
  ImGui::Text("forward   %s", share_text(sum.forward_ns, all).c_str());
  ImGui::Text("backward  %s", share_text(sum.backward_ns, all).c_str());
  ImGui::Text("transfer  %s", share_text(sum.transfer_ns, all).c_str());
  ImGui::Text("waiting   %s", share_text(sum.wait_ns, all).c_str());
  if (busy < width) ImGui::Text("idle      %s", share_text(width - busy, width).c_str());
  if (busy > width) ImGui::Text("of %s of the time: steps overlap", share_text(busy, width).c_str());
  ImGui::Text("%s events begin here", grouped_text(sum.events).c_str());
  end_fact_tooltip();
}

void show_event_tooltip(const HistoryFrame& frame, const HistoryHit& hit) {
  const Step& step = frame.program.step(hit.step);
  const EventTimes& event = hit.pass->events[static_cast<size_t>(hit.rank)][static_cast<size_t>(hit.step)];
  const EventParts parts = parts_of(step, event);
  const auto time = [](int64_t ns) { return format_seconds(static_cast<double>(ns) * 1e-9); };
  if (!begin_fact_tooltip(frame.context, step.name,
                          fmt::format("rank {}, {}", hit.rank, pass_names(*hit.pass).front())))
    return;
  if (!step.equation.empty()) ImGui::TextUnformatted(step.equation.c_str());
  ImGui::Text("begin  %s into the pass", time(parts.begin_ns - hit.pass->begin_ns).c_str());
  ImGui::Text("took   %s", time(parts.end_ns - parts.begin_ns).c_str());
  if (step.overlapped) ImGui::TextUnformatted("overlapped with the steps that follow");
  if (is_collective(step.op)) {
    ImGui::Text("wait   %s", time(parts.met_ns - parts.arrived_ns).c_str());
    ImGui::Text("moved  %s in %s",
                bytes_text(static_cast<double>(sent_bytes(frame.program, step.id))).c_str(),
                time(parts.end_ns - parts.met_ns).c_str());
  }
  end_fact_tooltip();
}

/// Handles the mouse over the tracks: the wheel zooms about it (with Shift it scrolls the ranks), a drag
/// pans, a click shows the pass and selects the step, a double click fits the pass.
void handle_mouse(const HistoryFrame& frame, float most_scroll, const ReplayNote* note) {
  const Context& context = frame.context;
  ViewState& view = context.view;
  const ImGuiIO& io = ImGui::GetIO();
  const float top = frame.min.y - context.px(kAxisHeight + kPassHeight);
  ImGui::SetCursorScreenPos({frame.min.x - context.px(kTrackLabelWidth), top});
  ImGui::InvisibleButton("history", {frame.max.x - frame.min.x + context.px(kTrackLabelWidth),
                                     std::max(1.0f, frame.max.y - top)});
  ImGui::SetItemKeyOwner(ImGuiKey_MouseWheelY);
  const bool hovered = ImGui::IsItemHovered() && !view.covered();
  const bool over_labels = io.MousePos.x < frame.min.x;
  const double at = frame.seconds(io.MousePos.x);
  if (hovered && io.MouseWheel != 0) {
    if (most_scroll > 0 && (over_labels || io.KeyShift))
      ImGui::SetScrollY(std::clamp(frame.scroll - io.MouseWheel * frame.pitch, 0.0f, most_scroll));
    else
      view.of<HistoryView>().shown =
          zoomed(frame.shown, std::pow(kZoomPerNotch, io.MouseWheel), at, frame.all, kSmallestStretchSeconds);
  }
  if (ImGui::IsItemActive() && ImGui::IsMouseDragging(ImGuiMouseButton_Left)) {
    view.of<HistoryView>().shown =
        panned(frame.shown, -static_cast<double>(io.MouseDelta.x / (frame.max.x - frame.min.x)), frame.all);
    ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
    return;
  }
  if (!hovered) return;
  const int rank = static_cast<int>(std::floor((io.MousePos.y - frame.min.y + frame.scroll) / frame.pitch));
  const bool over_track = io.MousePos.y >= frame.min.y && rank >= 0 && rank < frame.tracks;
  if (over_labels) {
    if (over_track) point_at_rank_name(context, rank, ImGui::IsItemDeactivated());
    return;
  }
  // After a double click has fitted the pass, the event under the mouse is not the one that was clicked.
  const bool clicked = ImGui::IsItemDeactivated() && io.MouseClickedLastCount[ImGuiMouseButton_Left] < 2 &&
                       std::abs(ImGui::GetMouseDragDelta(ImGuiMouseButton_Left, 0).x) < io.MouseDragThreshold;
  const auto pass = frame.slice() && frame.slice()->has_passes ? pass_at(*frame.slice(), at) : nullptr;
  if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left) && pass) {
    const double begin = static_cast<double>(pass->begin_ns) * 1e-9,
                 all = static_cast<double>(pass->ns) * 1e-9;
    view.of<HistoryView>().shown = clamped({begin - 0.02 * all, begin + 1.02 * all}, frame.all);
    return;
  }
  if (note) {
    show_tooltip(context, note->note.text.empty() ? "bookmark" : note->note.text);
    if (clicked) context.send(replay_command::Seek{note->note.seconds});
    return;
  }
  if (!over_track) {
    if (clicked) context.send(replay_command::Seek{at});
    return;
  }
  if (!frame.events) {
    show_column_tooltip(frame, rank, at);
    if (clicked) context.send(replay_command::Seek{at});
    return;
  }
  const auto in_lane = [&](Lane lane) -> std::optional<HistoryHit> {
    if (io.MousePos.y < part_of_track(lane, frame.y(rank), frame.height).top) return std::nullopt;
    return hit_in(frame.program, *frame.slice(), rank, lane, at, 3 * frame.pixel_seconds());
  };
  const auto beside = in_lane(Lane::Overlapped);
  const auto hit = beside ? beside : in_lane(Lane::Own);
  if (!hit) return;
  show_event_tooltip(frame, *hit);
  if (!clicked) return;
  if (hit->pass->pass != context.replay.pass) context.send(replay_command::ShowPass{hit->pass->pass});
  show_step(view, frame.program, hit->step);
}

/// Keeps the shown moment in view while the recording plays.
void follow_playhead(const Context& context, Stretch all) {
  const double at = context.replay.seconds;
  const Stretch shown = shown_of(context.view.of<HistoryView>(), context.history);
  if (!is_playing(context) || (at >= shown.begin && at <= shown.end)) return;
  const double begin = at - shown.size() / 10;
  context.view.of<HistoryView>().shown = clamped({begin, begin + shown.size()}, all);
}

/// True if the events of everything in view are loaded and have enough room to be visible.
bool draws_events(const HistorySnapshot& history, Stretch shown, float width) {
  if (!history.slice || !history.slice->has_events) return false;
  const HistorySlice& slice = *history.slice;
  const auto from = static_cast<int64_t>(shown.begin * 1e9), until = static_cast<int64_t>(shown.end * 1e9);
  if (slice.begin_ns() > from || slice.end_ns() < std::min(until, history.end_ns)) return false;
  int64_t most = 0;
  for (size_t rank = 0; rank < slice.buckets.size(); ++rank)
    most = std::max(most, events_of(slice, rank, from, until));
  return static_cast<float>(most) * kEventPixels <= width;
}

void ask_for_slice(const HistoryFrame& frame) {
  HistoryView& view = frame.context.view.of<HistoryView>();
  const HistorySnapshot& history = frame.history();
  if (history.built < 1 || history.slice_number != view.asked.number) return;  // one question at a time
  const int64_t column =
      column_ns(frame.pixel_seconds(), least_column_pixels(frame.max.x - frame.min.x, frame.tracks));
  auto wanted = look_needed(frame.shown, frame.all, column, history.slice ? view.asked : HistoryAsked{});
  if (!wanted) return;
  wanted->number = ++view.numbers;
  view.asked = *wanted;
  frame.context.send(
      history_command::Look{wanted->number, wanted->begin_ns, wanted->end_ns, wanted->bucket_ns});
}

}  // namespace

void draw_history_columns(const HistoryFrame& frame) {
  const auto colours = band_colours(frame.context.theme);
  const int64_t least =
      column_ns(frame.pixel_seconds(), least_column_pixels(frame.max.x - frame.min.x, frame.tracks));
  const int64_t from = frame.ns(frame.shown.begin), until = frame.ns(frame.shown.end) + 1;
  const HistorySlice *near = frame.slice(), *whole = frame.history().whole.get();
  std::vector<PlainRect> rects;
  const auto draw = [&](const HistorySlice& slice, int64_t begin, int64_t end) {
    if (end <= begin) return;
    for (int rank = 0; rank < frame.tracks; ++rank) {
      if (!frame.in_view(rank)) continue;
      const TimeColumns columns = columns_of(slice, static_cast<size_t>(rank), begin, end, least);
      add_bands(rects, columns,
                {.zero_ns = frame.shown.begin * 1e9,
                 .pixels_per_ns = 1 / (frame.pixel_seconds() * 1e9),
                 .zero = frame.min.x,
                 .left = std::max(frame.min.x, frame.x_of_ns(begin)),
                 .right = std::min(frame.max.x, frame.x_of_ns(end)),
                 .top = frame.y(rank),
                 .height = static_cast<int>(frame.height),
                 .colours = colours});
    }
  };
  // The newest slice covers everything in view, except in the first frames after a jump.
  const int64_t near_begin = near ? within(near->begin_ns(), from, until) : until;
  const int64_t near_end = near ? within(near->end_ns(), near_begin, until) : until;
  if (whole) draw(*whole, from, near_begin);
  if (near) draw(*near, near_begin, near_end);
  if (whole) draw(*whole, near_end, until);
  fill_rects(ImGui::GetWindowDrawList(), rects);
}

void draw_history_tracks(const Context& context) {
  const Plan* plan = shown_plan(context.snapshot);
  const HistorySnapshot& history = context.history;
  ImGui::BeginChild("recording", {0, 0}, ImGuiChildFlags_None, ImGuiWindowFlags_NoScrollWithMouse);
  const ImVec2 origin = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
  // An exported picture does not move: it has no map and no playhead, and it asks for no more data.
  const bool paper = Tape::current() != nullptr;
  const auto tracks = static_cast<float>(std::max(1, history.ranks));
  // If the window is too low for the map and some tracks, only tracks are drawn.
  const float least = context.px(kLeastTrackHeight + kLeastGap);
  const bool mapped = !paper && size.y >= context.px(kMapHeight + kAxisHeight + kPassHeight) +
                                              least * std::min(tracks, kTracksBeforeMap);
  const float head = context.px((mapped ? kMapHeight : 0) + kAxisHeight + kPassHeight);
  const float room = size.y - head;
  const float pitch = within(std::floor(room / tracks), least, context.px(kTrackHeight + kTrackGap));
  const float gap =
      pitch >= context.px(kTrackHeight + kTrackGap) ? context.px(kTrackGap) : context.px(kLeastGap);
  const float most_scroll = std::max(0.0f, pitch * tracks - room);
  const Stretch all = axis_of(history);
  const float bar = most_scroll > 0 ? ImGui::GetStyle().ScrollbarSize : 0;
  const ImVec2 min{origin.x + context.px(kTrackLabelWidth), origin.y + head};
  const ImVec2 max{origin.x + size.x - bar, origin.y + size.y};
  ViewState& view = context.view;
  if (view.fit_timeline) view.of<HistoryView>().shown = {};
  if (!paper) follow_playhead(context, all);
  if (mapped) draw_history_map(context, {min.x, origin.y}, {max.x, origin.y + context.px(kMapHeight - 4)});
  const Stretch shown = shown_of(view.of<HistoryView>(), history);
  const HistoryFrame frame{.context = context,
                           .program = plan->program,
                           .all = all,
                           .shown = shown,
                           .min = min,
                           .max = max,
                           .pitch = pitch,
                           .height = std::floor(pitch - gap),
                           .scroll = most_scroll > 0 ? ImGui::GetScrollY() : 0,
                           .tracks = history.ranks,
                           .events = draws_events(history, shown, max.x - min.x)};
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_axis(frame);
  list->PushClipRect({frame.min.x - context.px(kTrackLabelWidth), frame.min.y}, frame.max, true);
  draw_track_names(frame);
  list->PopClipRect();
  list->PushClipRect({frame.min.x - context.px(2), frame.min.y - context.px(1)}, frame.max, true);
  draw_grounds(frame);
  if (frame.events)
    draw_history_events(frame);
  else
    draw_history_columns(frame);
  list->PopClipRect();
  draw_passes(frame);
  const ReplayNote* note = draw_notes_on(frame);
  if (!paper) {
    draw_playhead(frame);
    handle_mouse(frame, most_scroll, note);
    ask_for_slice(frame);
  }
  ImGui::SetCursorScreenPos({origin.x, origin.y - ImGui::GetScrollY() + head + pitch * tracks - 1});
  ImGui::Dummy({1, 1});  // makes the window as high as the tracks, so that it scrolls when they do not fit
  ImGui::EndChild();
}

}  // namespace shardlens::ui
