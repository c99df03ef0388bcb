// The second page of the Traffic tab: the predicted and the measured time of each step, on one logarithmic
// axis. The cost model predicts for the hardware of the settings. For this machine that needs a calibration,
// which can be started here.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "engine/config/hardware_file.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/session/scaling_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "engine/runtime/step_times.h"
#include "ui/commands/command_button.h"
#include "ui/panels/parts.h"
#include "ui/panels/recordings/replay_view.h"
#include "ui/panels/scaling/scaling_parts.h"
#include "ui/panels/traffic/traffic_parts.h"
#include "ui/panels/traffic/traffic_times_rows.h"
#include "ui/plan/measured.h"
#include "ui/plan/shown_plan.h"
#include "ui/widgets/axis.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"
#include "ui/widgets/sentence.h"

namespace shardlens::ui {
namespace {

constexpr double kLeastRest = 0.005;  ///< of a pass: a shorter rest has no row

ImU32 kind_colour(const Theme& theme, TimeKind kind) {
  switch (kind) {
    case TimeKind::Product:
      return theme.forward;
    case TimeKind::Attention:
      return theme.backward;
    case TimeKind::ElementWise:
      return theme.dim;
    case TimeKind::Collective:
    case TimeKind::Overlapped:
      return theme.communication;
  }
  return theme.faint;
}

constexpr float kLeastTable = 520;  ///< so that names, marks and figures stand beside each other

/// The axis that every row shares, and the columns beside it.
struct Axis {
  float left, right;                         ///< of the axis
  double low, high;                          ///< seconds
  float predicted, measured, beside, error;  ///< right edges of the figures
  bool has_beside = false;                   ///< a recording, and this machine's run beside it
  bool has_predicted = true;                 ///< else the axis takes the column's room
  float x(double seconds) const {
    return left + static_cast<float>(log_fraction(seconds, low, high)) * (right - left);
  }
};

/// The times of one row or of a sum of rows, in seconds; 0: not known.
struct Times {
  double predicted = 0, measured = 0, beside = 0;
};

Axis axis_of(const Context& context, const std::vector<TimeRow>& rows, double longest, float left,
             float width) {
  double low = 1e-3, high = std::max(longest, 1e-5);
  for (const TimeRow& row : rows) {
    for (const double seconds : {row.predicted_seconds, row.measured_seconds, row.beside_seconds}) {
      if (seconds > 0) low = std::min(low, seconds);
      high = std::max(high, seconds);
    }
  }
  Axis axis;
  axis.low = std::pow(10, std::floor(std::log10(std::max(low, 1e-7))));
  axis.high = std::pow(10, std::ceil(std::log10(high)));
  axis.error = left + width - context.px(8);
  axis.has_beside = context.beside != nullptr;
  axis.beside = axis.error - context.px(72);
  axis.measured = axis.has_beside ? axis.beside - context.px(80) : axis.beside;
  axis.predicted = axis.measured - context.px(80);
  axis.left = left + context.px(width > context.px(860) ? 236 : 184);
  axis.has_predicted = !axis.has_beside || std::any_of(rows.begin(), rows.end(), [](const TimeRow& row) {
    return row.predicted_seconds > 0;
  });
  axis.right = (axis.has_predicted ? axis.predicted : axis.measured) - context.px(88);
  return axis;
}

void draw_axis(const Context& context, const Axis& axis, float top, float bottom) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  // If decades are close, only every second or third has its figure, so the figures are equally far apart.
  float widest = 0;
  for (double tick = axis.low; tick < axis.high * 1.5; tick *= 10)
    widest = std::max(widest, text_width(type.mono_note, format_tick(tick)));
  const float decade = std::max(1.0f, axis.x(axis.low * 10) - axis.x(axis.low));
  const int every = std::max(1, static_cast<int>(std::ceil((widest + context.px(6)) / decade)));
  int index = 0;
  for (double tick = axis.low; tick < axis.high * 1.5; tick *= 10) {
    const float x = std::round(axis.x(tick)) + 0.5f;
    list->AddLine({x, top}, {x, bottom}, faded(context.theme.line, 0.7f), 1);
    const std::string text = format_tick(tick);
    if (index++ % every != 0) continue;
    draw_text(list, {x, top - type.mono_note.size - context.px(3)}, type.mono_note, text, Align::Centre);
  }
  if (axis.has_predicted)
    draw_text(list, {axis.predicted, top - type.note.size - context.px(3)}, type.note, "predicted",
              Align::Right);
  draw_text(list, {axis.measured, top - type.note.size - context.px(3)}, type.note,
            how_known(context.snapshot), Align::Right);
  if (axis.has_beside)
    draw_text(list, {axis.beside, top - type.note.size - context.px(3)}, type.note, "here", Align::Right);
  draw_text(list, {axis.error, top - type.note.size - context.px(3)}, type.note,
            axis.has_beside ? "difference" : "error", Align::Right);
}

/// Draws the times of one row: a ring at the predicted time, a triangle at the measured or replayed one, and
/// a diamond at the one that this machine measured beside a recording.
void draw_times(const Context& context, const Axis& axis, float middle, const Times& times, ImU32 colour,
                bool bold) {
  const auto [predicted, measured, beside] = times;
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float radius = context.px(bold ? 5 : 4);
  const double from = axis.has_beside ? beside : predicted;
  if (from > 0 && measured > 0)
    list->AddLine({axis.x(from), middle}, {axis.x(measured), middle}, faded(colour, 0.6f), context.px(2));
  if (predicted > 0) draw_mark(list, {axis.x(predicted), middle}, DotMark::Circle, radius, colour);
  if (measured > 0) draw_mark(list, {axis.x(measured), middle}, DotMark::Triangle, radius, colour);
  if (beside > 0) draw_mark(list, {axis.x(beside), middle}, DotMark::Diamond, radius, colour);
  const TextStyle& style = bold ? type.mono : type.mono_note;
  const float y = middle - style.size / 2;
  if (axis.has_predicted)
    draw_text(list, {axis.predicted, y}, in(style, context.theme.text),
              predicted > 0 ? format_seconds(predicted) : "–", Align::Right);
  draw_text(list, {axis.measured, y}, in(style, context.theme.text),
            measured > 0 ? measured_text(measured, context.snapshot.result.get()) : "–", Align::Right);
  if (axis.has_beside)
    draw_text(list, {axis.beside, y}, in(style, context.theme.text),
              beside > 0 ? measured_text(beside, context.beside->result.get()) : "–", Align::Right);
  if (from > 0 && measured > 0)
    draw_text(list, {axis.error, y}, style, difference_text(from, measured), Align::Right);
}

struct Sum {
  std::string name;
  Times times;
  ImU32 colour;
};

/// What the steps leave of a pass of `seconds`: the ranks' waiting, and the time between the steps, 0 if it
/// is too little to be named.
struct Rest {
  double waited = 0, between = 0;
};

Rest rest_of(const std::vector<TimeRow>& rows, double seconds) {
  Rest rest{0, seconds};
  for (const TimeKind kind : kTimeKinds) {
    const TimeTotal sum = total(rows, kind);
    rest.waited += sum.waited_seconds;
    rest.between -= sum.waited_seconds + (kind == TimeKind::Overlapped ? 0 : sum.measured_seconds);
  }
  if (rest.between < kLeastRest * seconds) rest.between = 0;
  return rest;
}

/// The sums: the whole pass, each kind, waiting, what the steps leave of the pass, and last the overlapped
/// steps, which run beside the others. So all rows between the first and the last add up to the pass.
std::vector<Sum> sums_of(const Context& context, const std::vector<TimeRow>& rows,
                         const TimeComparison& times) {
  const Result* const here = context.beside != nullptr ? context.beside->result.get() : nullptr;
  const double beside = here != nullptr ? here->times->measured_seconds : 0;
  std::vector<Sum> sums{
      {"the whole pass", {times.predicted_seconds, times.measured_seconds, beside}, context.theme.text}};
  const Rest rest = rest_of(rows, times.measured_seconds);
  const Rest rest_here = here != nullptr ? rest_of(time_rows(*here->plan, *here, nullptr), beside) : Rest{};
  for (const TimeKind kind : kTimeKinds) {
    if (kind == TimeKind::Overlapped) {
      if (rest.waited > 0 || rest_here.waited > 0)
        sums.push_back({"waiting", {0, rest.waited, rest_here.waited}, context.theme.faint});
      if (rest.between > 0 || rest_here.between > 0)
        sums.push_back({"between the steps", {0, rest.between, rest_here.between}, context.theme.dim});
    }
    const TimeTotal sum = total(rows, kind);
    if (sum.steps == 0) continue;
    sums.push_back({to_string(kind),
                    {sum.predicted_seconds, sum.measured_seconds, sum.beside_seconds},
                    kind_colour(context.theme, kind)});
  }
  return sums;
}

/// Returns the height.
float draw_sums(const Context& context, const Axis& axis, const std::vector<Sum>& sums, ImVec2 at) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float row = context.px(24);
  float y = at.y;
  for (const Sum& sum : sums) {
    const TextStyle& style = &sum == &sums.front() ? type.strong : type.body;
    draw_text(list, {at.x + context.px(14), y + (row - style.size) / 2}, style,
              fitted(style, sum.name, axis.left - at.x - context.px(22)));
    fill_rect(list, {at.x, y + context.px(6)}, {at.x + context.px(6), y + row - context.px(6)}, sum.colour,
              context.px(1));
    draw_times(context, axis, y + row / 2, sum.times, sum.colour, true);
    y += row;
  }
  return y - at.y;
}

TextTable copied(const std::vector<Sum>& sums, const std::string& how, bool has_beside) {
  const auto cell = [](double seconds) { return seconds > 0 ? format_seconds(seconds) : std::string(); };
  TextTable table{{{"time of"}, {"predicted", Align::Right}, {how, Align::Right}}, {}};
  if (has_beside) table.columns.push_back({"measured here", Align::Right});
  for (const Sum& sum : sums) {
    table.rows.push_back({sum.name, cell(sum.times.predicted), cell(sum.times.measured)});
    if (has_beside) table.rows.back().push_back(cell(sum.times.beside));
  }
  return table;
}

/// Draws a row for each step; a click selects it. Returns the height.
float draw_steps(const Context& context, const Axis& axis, const std::vector<TimeRow>& rows, ImVec2 at,
                 float width) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float height = context.px(21);
  float y = at.y;
  const Program& program = context.snapshot.plan->program;
  const StepId selected = selection_in(context.view, program).step;
  for (const TimeRow& row : rows) {
    const bool hovered = draw_step_row(context, "times", program.step(row.step), row.step == selected,
                                       {at.x, y}, {width, height});
    draw_text(list, {at.x + context.px(14), y + (height - type.mono_note.size) / 2},
              in(type.mono_note, theme.text),
              fitted(type.mono_note, row.name, axis.left - at.x - context.px(22)));
    draw_times(context, axis, y + height / 2,
               {row.predicted_seconds, row.measured_seconds, row.beside_seconds},
               kind_colour(theme, row.kind), false);
    if (hovered) {
      std::string words = row.name + ", " + to_string(row.kind);
      if (row.kind == TimeKind::Collective)
        words += fmt::format("\n{} from the arrival of the last rank;\nthe first rank waited {} before that",
                             how_known(context.snapshot),
                             measured_text(row.waited_seconds, context.snapshot.result.get()));
      if (row.kind == TimeKind::Overlapped)
        words += fmt::format("\nlater steps waited {} for it",
                             measured_text(row.waited_seconds, context.snapshot.result.get()));
      show_tooltip(context, words);
    }
    y += height;
  }
  return y - at.y;
}

TextTable copied(const std::vector<TimeRow>& rows, const std::string& how, bool has_beside) {
  TextTable table{{{"step", Align::Right},
                   {"name"},
                   {"kind"},
                   {"phase"},
                   {"predicted", Align::Right},
                   {how, Align::Right},
                   {"waited, " + how, Align::Right}},
                  {}};
  if (has_beside) table.columns.push_back({"measured here", Align::Right});
  for (const TimeRow& row : rows) {
    table.rows.push_back({std::to_string(row.step), row.name, to_string(row.kind), to_string(row.phase),
                          row.predicted_seconds > 0 ? format_seconds(row.predicted_seconds) : "",
                          format_seconds(row.measured_seconds),
                          row.waited_seconds > 0 ? format_seconds(row.waited_seconds) : ""});
    if (has_beside) table.rows.back().push_back(format_seconds(row.beside_seconds));
  }
  return table;
}

/// Says why there is no prediction, why it is wrong, or that it is for another machine than the one that ran;
/// empty: nothing to say.
std::string remark(const Context& context, const Settings& settings) {
  const Hardware& hardware = find_hardware(settings.hardware);
  if (context.replay.is_open()) {
    if (context.view.of<ReplayView>().beside && context.beside == nullptr)
      return "This machine runs the recording's settings. Its times will appear beside the recorded ones.";
    return context.beside != nullptr
               ? std::string()
               : fmt::format(
                     "Predicted for {}, replayed on {}. This machine's own times can be shown beside them.",
                     hardware.title, context.replay.recording->machine);
  }
  if (settings.hardware != kThisMachine)
    return fmt::format(
        "Predicted for {}, but measured on this machine: the difference is no error of the model.",
        hardware.title);
  if (!hardware.is_calibrated())
    return "This machine is not calibrated, so nothing can be predicted for it. The button calibrates it in "
           "about half a minute.";
  if (hardware.flops(settings.dtype) <= 0)
    return fmt::format(
        "This machine is calibrated, but not in {}. The button calibrates it in that dtype too.",
        to_string(settings.dtype));
  return short_of_cores(settings, hardware);
}

/// The source of the times, and how they are taken over the ranks. The parts of a pass add up to it only if
/// each is a mean.
std::string how_timed(const Result& result) {
  return fmt::format(
      "{} on {}{}: each step is its slowest rank's time; sums and waiting are means over the ranks.",
      result.how(), result.times->measured_on, result.replayed ? "" : " while this window was drawn");
}

/// True if the shown run was timed. Only then are there marks, sums and steps.
bool shows_times(const Snapshot& snapshot) {
  return snapshot.result && !snapshot.stale() && snapshot.result->times;
}

std::string predicted_words(const Hardware& hardware) {
  return hardware.is_calibrated() || hardware.name != kThisMachine
             ? fmt::format("Predicted on {}: {}.", hardware.title, hardware.basis)
             : "Nothing is predicted yet.";
}

/// Draws the meaning of the marks, side by side, on more lines if `width` is too small. Returns the height.
float draw_legend(const Context& context, ImVec2 at, float width) {
  const Type type(context);
  const TextStyle words = in(type.body, context.theme.dim);
  std::vector<std::pair<DotMark, std::string>> marks;
  if (context.snapshot.result->times->predicted_seconds > 0) marks.push_back({DotMark::Circle, "predicted"});
  if (context.beside == nullptr) {
    marks.push_back({DotMark::Triangle, "measured, waiting in a row of its own"});
  } else {
    marks.push_back({DotMark::Triangle,
                     "replayed on " + context.replay.recording->machine + ", waiting in a row of its own"});
    marks.push_back({DotMark::Diamond, "measured here"});
  }
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float indent = context.px(18), gap = context.px(18), line = words.size + context.px(6);
  ImVec2 pen = at;
  float bottom = at.y;
  for (const auto& [mark, text] : marks) {
    if (pen.x > at.x && pen.x + indent + text_width(words, text) > at.x + width) pen = {at.x, pen.y + line};
    draw_mark(list, {pen.x + context.px(6), pen.y + words.size / 2}, mark, context.px(5), words.colour);
    const float room = at.x + width - pen.x - indent;
    const float height = draw_wrapped(list, {pen.x + indent, pen.y}, words, text, room);
    bottom = pen.y + height + line - words.size;
    pen = text_width(words, text) > room ? ImVec2(at.x, bottom)
                                         : ImVec2(pen.x + indent + text_width(words, text) + gap, pen.y);
  }
  return bottom - at.y;
}

/// Draws the line with the remark at its left, or below, and the button that measures at its right. Returns
/// the height.
float draw_calibration(const Context& context, const Settings& settings, ImVec2 at, float width) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ScalingSnapshot& scaling = context.scaling;
  const ImVec2 right{at.x + width, at.y};
  float taken = 0;
  std::string words = remark(context, settings);
  if (!scaling.message.empty() && !context.replay.is_open())  // why the last measurement ended early
    words = as_sentence(scaling.message) + (words.empty() ? "" : " " + words);
  if (scaling.measures()) {
    words = fmt::format("{} ({})", as_sentence(scaling.activity), format_percent(scaling.share));
    taken = command_button_at(context, "scaling.stop", "Stop", ButtonLook::Plain, right);
  } else if (context.replay.is_open()) {
    const bool runs = context.view.of<ReplayView>().beside;
    taken = command_button_at(context, "replay.run_here", runs ? "Run here again" : "Run here too",
                              runs ? ButtonLook::Plain : ButtonLook::Accent, right);
  } else if (settings.hardware != kThisMachine) {
    taken = button_width(context, "Predict for this machine");
    ImGui::SetCursorScreenPos({right.x - taken, at.y});
    if (draw_button(context, "this machine", "Predict for this machine", ButtonLook::Accent, true,
                    "Estimates the plan's times for the machine that runs it")) {
      Settings wanted = context.wanted();
      wanted.hardware = kThisMachine;
      context.want(wanted);
    }
  } else {
    const Hardware& hardware = find_hardware(settings.hardware);
    const bool known = hardware.is_calibrated() && hardware.flops(settings.dtype) > 0;
    taken =
        command_button_at(context, "scaling.calibrate", known ? "Calibrate again" : "Calibrate this machine",
                          known ? ButtonLook::Plain : ButtonLook::Accent, right);
  }
  const auto [room, alone] = room_for_words(context, width, taken + context.px(16));
  float used = context.px(alone ? kControlHeight + 8 : 4);
  if (!words.empty())
    used += draw_wrapped(list, {at.x, at.y + used}, in(type.body, theme.communication), words, room) +
            context.px(6);
  if (shows_times(context.snapshot)) used += draw_legend(context, {at.x, at.y + used}, room);
  return std::max(context.px(kControlHeight), used);
}

/// Draws the sums and the steps on one axis. Returns the height.
float draw_timed(const Context& context, const Result& result, ImVec2 at, float width) {
  const Snapshot& snapshot = context.snapshot;
  const Plan& plan = *snapshot.plan;
  float y = at.y + context.px(28);  // the axis' figures stand above it
  const std::vector<TimeRow> all =
      time_rows(plan, result, context.beside != nullptr ? context.beside->result.get() : nullptr);
  const bool whole = plan.program.settings.block == Block::Model;
  const StepId selected = selection_in(context.view, plan.program).step;
  const int layer = selected < 0 ? 0 : std::max(0, plan.program.step(selected).layer);
  const std::vector<TimeRow> rows = whole ? times_of_one_layer(all, layer) : all;
  const Axis axis = axis_of(
      context, rows, std::max(result.times->measured_seconds, result.times->predicted_seconds), at.x, width);
  const float top = y;
  const float steps = context.px(21) * static_cast<float>(rows.size());
  draw_axis(context, axis, top, top + context.px(24 * 6 + 34) + steps);
  const std::vector<Sum> sums = sums_of(context, all, *result.times);
  const float sums_top = y;
  y += draw_sums(context, axis, sums, {at.x, y});
  copyable_table("sums", {at.x, sums_top}, {at.x + width, y},
                 [&] { return copied(sums, how_known(snapshot), axis.has_beside); });
  y += context.px(12);
  draw_text(ImGui::GetWindowDrawList(), {at.x, y}, Type(context).strong,
            whole ? fmt::format("The steps outside the layers and in layer {}", layer) : "Step by step");
  y += context.px(24);
  const float steps_top = y;
  y += draw_steps(context, axis, rows, {at.x, y}, width);
  copyable_table("times", {at.x, steps_top}, {at.x + width, y},
                 [&] { return copied(rows, how_known(snapshot), axis.has_beside); });
  return y - at.y;
}

}  // namespace

void draw_traffic_times(const Context& context, float reserve) {
  const Snapshot& snapshot = context.snapshot;
  const Plan& plan = *snapshot.plan;
  const bool timed = shows_times(snapshot);
  const Result* const result = timed ? snapshot.result.get() : nullptr;
  const Settings& settings = plan.program.settings;
  const Hardware& hardware = find_hardware(settings.hardware);
  page_head(context, "Times",
            fmt::format("{} {}", predicted_words(hardware),
                        timed ? as_sentence(how_timed(*result)) : "Not timed yet."),
            reserve);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  float y = at.y + context.px(6);
  y += draw_calibration(context, settings, {at.x, y}, width);
  if (timed) {
    y += draw_sideways(context, "times", {at.x, y}, width, context.px(kLeastTable),
                       [&](ImVec2 place, float wide) { return draw_timed(context, *result, place, wide); });
  } else {
    y += context.px(16);
    y += draw_wrapped(ImGui::GetWindowDrawList(), {at.x, y}, Type(context).body, why_not_timed(snapshot),
                      width);
  }
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({width, y + context.px(8) - at.y});
}

void copy_traffic_times(const Context& context, ImVec2 right_top) {
  const Snapshot& snapshot = context.snapshot;
  if (!shows_times(snapshot)) return;
  const Result* beside = context.beside != nullptr ? context.beside->result.get() : nullptr;
  copy_button(context, "copy times", right_top, [&] {
    return copied(time_rows(*snapshot.plan, *snapshot.result, beside), how_known(snapshot),
                  beside != nullptr);
  });
}

}  // namespace shardlens::ui
