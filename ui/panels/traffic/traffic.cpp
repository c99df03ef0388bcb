// The Traffic tab: every step that converts a layout, in the order of the Program, with the reason, the bytes
// each rank sends, and its measured and predicted time. Below or above the table: what the same model would
// send with other splits.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include "engine/config/hardware_file.h"
#include "engine/config/validate.h"
#include "engine/lesson/marking.h"
#include "engine/runtime/core_sharing.h"
#include "engine/runtime/snapshot.h"
#include "ui/frame/notice.h"
#include "ui/lesson/lesson_view.h"
#include "ui/panels/memory/memory_figures.h"
#include "ui/panels/panels.h"
#include "ui/panels/parts.h"
#include "ui/panels/traffic/traffic_parts.h"
#include "ui/panels/traffic/traffic_rows.h"
#include "ui/panels/traffic/traffic_view.h"
#include "ui/plan/cache.h"
#include "ui/plan/measured.h"
#include "ui/plan/shown_plan.h"
#include "ui/stage/meeting.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

constexpr const char* kAsks = "What the ranks send each other in one forward and backward pass.";

/// The places of the table's columns, for the available width.
struct Columns {
  bool wide = false;   ///< every figure has a column of its own, and every row says why
  bool tight = false;  ///< a row's figures stand below its words
  float left, text, text_width;
  float full, sent, measured, predicted, bandwidth;  ///< right edges
};

Columns columns_of(const Context& context, float left, float width) {
  Columns columns;
  columns.wide = width > context.px(940);
  columns.tight = width < context.px(500);
  columns.left = left;
  columns.text = left + context.px(36);
  float right = left + width - context.px(8);
  columns.bandwidth = right;
  if (columns.wide) right -= context.px(100);
  columns.predicted = right;
  if (columns.wide) right -= context.px(92);
  columns.measured = right;
  right -= context.px(columns.wide ? 148 : 132);
  columns.sent = right;
  right -= context.px(150);
  columns.full = right;
  if (columns.wide) right -= context.px(112);
  columns.text_width = right - columns.text - context.px(12);
  if (columns.tight) {
    columns.sent = columns.text + context.px(140);
    columns.text_width = columns.measured - columns.text;
  }
  return columns;
}

std::string waited(const Context& context, const TrafficRow& row) {
  const std::string wait = measured_text(row.wait_seconds, context.snapshot.result.get());
  if (row.overlapped) return "later steps waited " + wait;
  if (stage::kept_back(context).waiting) return "a lesson asks who waits";
  return "waited " + wait + " for rank " + std::to_string(row.last_rank);
}

std::string transferred(const Context& context, const TrafficRow& row) {
  return measured_text(row.transfer_seconds, context.snapshot.result.get());
}

std::string flow(const TrafficRow& row) {
  return to_string(row.from) + " → " + to_string(row.to);
}

TextTable copied(const Context& context, const std::vector<TrafficRow>& rows, const std::string& how) {
  TextTable table{{{"step", Align::Right},
                   {"mark"},
                   {"phase"},
                   {"what"},
                   {"tensor"},
                   {"from → to"},
                   {"shape"},
                   {"full bytes", Align::Right},
                   {"sent bytes per rank", Align::Right},
                   {"transfer of the slowest rank, " + how, Align::Right},
                   {"wait, " + how, Align::Right},
                   {"time, predicted", Align::Right},
                   {"bus bandwidth", Align::Right},
                   {"why"}},
                  {}};
  for (const TrafficRow& row : rows)
    table.rows.push_back({std::to_string(row.step),
                          row.conjugate == Conjugate::F   ? "f"
                          : row.conjugate == Conjugate::G ? "g"
                                                          : "",
                          to_string(row.phase), to_string(row.op), row.symbol, flow(row), row.shape,
                          grouped_text(row.full_bytes), grouped_text(row.sent_bytes),
                          row.measured ? transferred(context, row) : "",
                          row.measured ? waited(context, row) : "",
                          row.predicted_seconds > 0 ? format_seconds(row.predicted_seconds) : "",
                          row.measured ? format_bandwidth(row.bus_bytes_per_second) : "", row.why});
  return table;
}

void draw_header(const Context& context, const Columns& columns, float y) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (columns.wide) draw_text(list, {columns.full, y}, type.note, "full tensor", Align::Right);
  draw_text(list, {columns.sent, y}, type.note, "each rank sends", Align::Right);
  const std::string second = context.beside != nullptr ? "here" : "predicted";
  const std::string measured =
      columns.wide && context.beside == nullptr
          ? std::string(how_known(context.snapshot)) + ", slowest rank"
          : longest_fitting(
                type.note, std::array<std::string, 2>{"slowest rank, then " + second, "time, then " + second},
                columns.measured - columns.sent - context.px(8));
  draw_text(list, {columns.measured, y}, type.note, measured, Align::Right);
  if (columns.wide) {
    draw_text(list, {columns.predicted, y}, type.note,
              "predicted, " + device_word(priced_on(context, context.snapshot.plan->program).title),
              Align::Right);
    draw_text(list, {columns.bandwidth, y}, type.note, "bus bandwidth", Align::Right);
  }
}

/// Draws a conversion that sends nothing, as one dim line. Returns the height it took.
float draw_quiet_row(const Context& context, const TrafficRow& row, const Columns& columns, float y,
                     ImU32 ink) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const std::string what = row.op == Op::Slice ? "local slice" : "identity";
  const TextStyle words = in(type.note, ink);
  float x = columns.text;
  draw_text(list, {x, y + context.px(5)}, words, what);
  x += text_width(words, what) + context.px(8);
  draw_text(list, {x, y + context.px(5)}, in(type.mono_note, ink), row.symbol);
  x += text_width(type.mono_note, row.symbol) + context.px(16);
  draw_text(list, {x, y + context.px(5)}, words,
            fitted(words, row.op == Op::Slice ? flow(row) : to_string(row.to) + " already",
                   columns.text + columns.text_width - (columns.tight ? context.px(64) : 0) - x));
  draw_text(list, {columns.tight ? columns.measured : columns.sent, y + context.px(5)},
            in(type.mono_note, ink), bytes_text(0), Align::Right);
  return context.px(26);
}

constexpr float kFigures = 44;  ///< the height of a tight row's figures

/// Draws a collective: the operation and its reason at the left, its figures at the right or below, their
/// formulas below them.
void draw_collective_row(const Context& context, const TrafficRow& row, const Columns& columns, float y,
                         bool says_why) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  float first = y + context.px(7), second = first + context.px(20);
  float x = columns.text;
  draw_text(list, {x, first}, in(type.strong, theme.communication), to_string(row.op));
  x += text_width(type.strong, to_string(row.op)) + context.px(8);
  draw_text(list, {x, first}, type.mono, row.symbol);
  x += text_width(type.mono, row.symbol) + context.px(16);
  draw_text(list, {x, first + context.px(1)}, type.note,
            fitted(type.note, flow(row), columns.text + columns.text_width - x));
  float words = type.note.size;
  if (says_why) {
    words = draw_wrapped(list, {columns.text, second}, type.note, row.why, columns.text_width);
  } else {
    draw_text(list, {columns.text, second}, type.note,
              fitted(type.note, row.shape + " · " + bytes_text(static_cast<double>(row.full_bytes)),
                     columns.text_width));
  }
  if (columns.tight) {
    first = second + words + context.px(6);
    second = first + context.px(18);
  }
  if (columns.wide) {
    draw_text(list, {columns.full, first}, type.mono, bytes_text(static_cast<double>(row.full_bytes)),
              Align::Right);
    draw_text(list, {columns.full, second}, type.mono_note, row.shape, Align::Right);
  }
  draw_text(list, {columns.sent, first}, type.mono, bytes_text(static_cast<double>(row.sent_bytes)),
            Align::Right);
  draw_text(list, {columns.sent, second}, type.mono_note, row.formula, Align::Right);
  if (row.measured) {
    draw_text(list, {columns.measured, first}, type.mono, transferred(context, row), Align::Right);
  } else {
    draw_text(list, {columns.measured, first}, type.note, "not yet", Align::Right);
  }
  if (row.beside_seconds > 0) {
    draw_text(list, {columns.measured, second}, in(type.mono_note, theme.text),
              "here " + measured_text(row.beside_seconds, context.beside->result.get()), Align::Right);
    if (!columns.wide) return;
  }
  if (!columns.wide) {  // one column for both: measured above alpha-beta's prediction
    if (row.predicted_seconds > 0)
      draw_text(list, {columns.measured, second}, type.mono_note, format_seconds(row.predicted_seconds),
                Align::Right);
    return;
  }
  if (row.measured && row.beside_seconds <= 0)
    draw_text(list, {columns.measured, second}, in(type.note, mixed(theme.dim, theme.communication, 0.35f)),
              waited(context, row), Align::Right);
  if (row.predicted_seconds > 0)
    draw_text(list, {columns.predicted, first}, in(type.mono, theme.dim),
              format_seconds(row.predicted_seconds), Align::Right);
  if (row.measured)
    draw_text(list, {columns.bandwidth, first}, type.mono, format_bandwidth(row.bus_bytes_per_second),
              Align::Right);
}

/// Draws the table. Returns the height it took.
float draw_rows(const Context& context, const std::vector<TrafficRow>& rows, const std::string& title,
                ImVec2 at, float width) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Columns columns = columns_of(context, at.x, width);
  draw_text(list, at, type.strong, title);
  float y = at.y + context.px(columns.wide ? 4 : 26);
  draw_header(context, columns, y);
  y += context.px(22);
  rule(context, {at.x, y}, width);
  y += context.px(4);
  const Program& program = context.snapshot.plan->program;
  const StepId selected_step = selection_in(context.view, program).step;
  for (const TrafficRow& row : rows) {
    const bool selected = row.step == selected_step;
    const bool says_why = columns.wide || selected;
    const float why = says_why ? wrapped_height(type.note, row.why, columns.text_width) : type.note.size;
    const float figures = columns.tight ? context.px(kFigures) : 0;
    const float height = row.sends() ? context.px(27) + why + figures + context.px(9) : context.px(26);
    const bool hovered =
        draw_step_row(context, "conversions", program.step(row.step), selected, {at.x, y}, {width, height});
    const ImU32 quiet = selected || hovered ? theme.text : theme.dim;
    if (row.conjugate != Conjugate::None) {
      const TextStyle mark{context.fonts.italic, context.px(kBodySize * 1.2f),
                           row.sends() ? theme.communication : quiet};
      draw_text(list, {at.x + context.px(20), y + context.px(row.sends() ? 5 : 2)}, mark,
                row.conjugate == Conjugate::F ? "f" : "g", Align::Centre);
    }
    if (row.sends()) {
      draw_collective_row(context, row, columns, y, says_why);
    } else {
      draw_quiet_row(context, row, columns, y, quiet);
      tooltip(context, row.why);
    }
    y += height + context.px(2);
  }
  return y - at.y;
}

/// The rows of the shown plan, computed once.
const std::vector<TrafficRow>& rows_of(const Context& context, const Hardware& hardware) {
  const Snapshot& snapshot = context.snapshot;
  const std::shared_ptr<const Result> beside = context.beside != nullptr ? context.beside->result : nullptr;
  using PlanResults = std::tuple<std::shared_ptr<const Plan>, std::shared_ptr<const Result>,
                                 std::shared_ptr<const Result>, std::string>;
  static Cache<PlanResults, std::vector<TrafficRow>> known;
  return known.of({snapshot.plan, snapshot.result, beside, hardware.name}, [&] {
    std::vector<TrafficRow> rows = traffic_rows(*snapshot.plan, snapshot.result.get(), hardware);
    if (beside) add_beside(rows, *beside);
    return rows;
  });
}

/// The layer of a whole model whose conversions are listed: the selected step's, else the first.
int listed_layer(const Context& context, const Program& program) {
  const StepId selected = selection_in(context.view, program).step;
  if (selected < 0) return 0;
  return std::max(program.step(selected).layer, 0);
}

/// The splits that are compared: in front of a class those that the scene compares, else all.
std::vector<SplitCost> compared_splits(const Context& context, const std::vector<SplitCost>& all) {
  if (!is_class(context.view)) return all;
  std::vector<SplitCost> compared;
  const ShownScene* const scene = made_scene(context);
  if (scene == nullptr || !scene->scene->state.compare) return compared;
  for (const std::string& name : scene->scene->state.compare->splits)
    std::copy_if(all.begin(), all.end(), std::back_inserter(compared),
                 [&](const SplitCost& one) { return one.split.name == name; });
  return compared;
}

void say(const Context& context, const std::string& text) {
  const Type type(context);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const float height =
      draw_wrapped(ImGui::GetWindowDrawList(), {at.x, at.y + context.px(12)}, type.body, text, width);
  ImGui::Dummy({width, height + context.px(12)});
}

std::string provenance(const Context& context) {
  const Snapshot& snapshot = context.snapshot;
  std::string text;
  if (snapshot.result && !snapshot.stale())
    text = fmt::format("{} on ", snapshot.result->live       ? "Live"
                                 : snapshot.result->replayed ? "Replayed"
                                                             : "Measured") +
           fmt::format("{}, by the communicator {}: {}.", snapshot.result->machine,
                       snapshot.result->communicator.name, snapshot.result->communicator.reason);
  else
    text = "This plan has not run.";
  if (snapshot.result && !snapshot.stale()) {
    for (const Lateness& late : snapshot.result->late) {
      std::string sentence = to_sentence(snapshot.result->plan->program, late);
      sentence[0] = 'R';
      text += " " + sentence + ".";
    }
    if (const std::string shared = core_sharing_words(*snapshot.result); !shared.empty())
      text += " " + shared;
  }
  const Hardware& hardware = priced_on(context, context.snapshot.plan->program);
  const Hardware& own = find_hardware(context.snapshot.plan->program.settings.hardware);
  text += " The bytes are those of collectives in a ring.";
  if (hardware.link_bytes_per_second <= 0) return text;
  const char* const why = hardware.name == own.name  ? ""
                          : own.name == kThisMachine ? ", because this machine is not calibrated"
                                                     : ", because Setup's hardware states no links";
  return fmt::format("{} Predicted: latency and bandwidth (the alpha-beta model) of {}{}.", text,
                     hardware.title, why);
}

/// Says that one rank sends nothing, and offers degrees to cut by.
void draw_one_rank(const Context& context, float reserve) {
  page_head(context, "Traffic", kAsks, reserve);
  say(context,
      "One rank has nothing to send. Every tensor is whole where it is computed, so no step needs a "
      "collective. Cut the layer to see where ranks need collectives:");
  const Settings& settings = context.snapshot.plan->program.settings;
  std::vector<int> degrees = possible_degrees(settings.model, settings.block, settings.heads_policy);
  std::erase(degrees, 1);
  degrees.resize(std::min<size_t>(degrees.size(), 5));
  std::vector<std::string> labels;
  for (int degree : degrees) labels.push_back("T = " + std::to_string(degree));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const int clicked = choice_row(context, "degrees", {at.x, at.y + context.px(8)}, labels, -1);
  if (clicked < 0) return;
  Settings wanted = context.wanted();
  wanted.tp = degrees[static_cast<size_t>(clicked)];
  context.want(wanted);
}

}  // namespace

void draw_traffic(const Context& context) {
  const Snapshot& snapshot = context.snapshot;
  if (!snapshot.plan) {
    page_head(context, "Traffic", kAsks, 0);
    say(context, no_plan_words(context));
    return;
  }
  const Plan& plan = *snapshot.plan;
  const ImVec2 top = ImGui::GetCursorScreenPos();
  const float right = top.x + ImGui::GetContentRegionAvail().x;
  static const std::array<std::string, 2> pages{"collectives", "times"};
  const float reserve = choice_row_width(context, pages) + context.px(84);
  bool& times = context.view.of<TrafficView>().times;
  const int page =
      choice_row(context, "page", {right - reserve + context.px(12), top.y}, pages, times ? 1 : 0);
  if (page >= 0) times = page == 1;
  if (times) {
    copy_traffic_times(context, {right, top.y});
    draw_traffic_times(context, reserve);
    return;
  }
  const std::vector<TrafficRow>& rows = rows_of(context, priced_on(context, context.snapshot.plan->program));
  if (plan.program.tp() * plan.program.dp() == 1) {
    draw_one_rank(context, reserve);
    return;
  }
  const bool in_class = is_class(context.view);
  page_head(context, "Traffic", in_class ? kAsks : provenance(context), reserve);
  copy_button(context, "copy traffic", {right, top.y},
              [&] { return copied(context, rows, how_known(snapshot)); });
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  float y = at.y + context.px(6);
  y += draw_summary(context, rows, {at.x, y}, room.x) + context.px(14);
  const bool whole = plan.program.settings.block == Block::Model;
  if (snapshot.lens) y += draw_loss_lens(context, *snapshot.lens, {at.x, y}, room.x) + context.px(18);
  const std::vector<SplitCost> splits = compared_splits(context, plan.splits);
  const bool roomy = room.x > context.px(860) && room.y > context.px(560);
  const bool splits_first = !splits.empty() && (in_class || (!whole && roomy));
  if (splits_first) y += draw_splits(context, splits, {at.x, y}, room.x) + context.px(18);
  const float rows_top = y;
  const auto draw = in_class ? draw_rows_in_class : draw_rows;
  if (whole) {
    const int layer = listed_layer(context, plan.program);
    const std::string title =
        in_class
            ? fmt::format("Outside the layers, and in layer {}", layer)
            : fmt::format("Every conversion outside the layers and in layer {}, as in every other", layer);
    y += draw(context, rows_of_one_layer(rows, layer), title, {at.x, y}, room.x);
  } else {
    y += draw(context, rows,
              in_class ? "In the order of the steps" : "Every conversion, in the order of the Program",
              {at.x, y}, room.x);
  }
  copyable_table("conversions", {at.x, rows_top}, {right, y},
                 [&] { return copied(context, rows, how_known(snapshot)); });
  y += context.px(18);
  if (!splits_first && !splits.empty()) y += draw_splits(context, splits, {at.x, y}, room.x);
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({room.x, y - at.y});
}

}  // namespace shardlens::ui
