// The sweep of T: one table, and below it two charts. They compare the weights that a rank holds with 1/T,
// and the error with its bound.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "engine/runtime/session/comparison.h"
#include "ui/outbox.h"
#include "ui/panels/compare/compare_pages.h"
#include "ui/panels/parts.h"
#include "ui/widgets/axis.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"
#include "ui/widgets/sentence.h"
#include "ui/widgets/within.h"

namespace shardlens::ui {
namespace {

std::string point_bytes(int64_t count) {
  return bytes_text(static_cast<double>(count));
}

std::string seconds_or(double seconds, const char* otherwise) {
  return seconds > 0 ? format_seconds(seconds) : otherwise;
}

/// One figure of a row; `note` is small text below it.
struct Cell {
  std::string text, note;
};

struct SweepColumn {
  const char* head;
  const char* note;  ///< what it is: planned, measured
  float share;       ///< of the width
};
constexpr float kLeastTable = 620;  ///< so that its figures stay whole
constexpr SweepColumn kColumns[] = {
    {"T", "", 0.05f},
    {"weights per rank", "planned", 0.18f},
    {"1/T of all", "", 0.125f},
    {"replicated", "of them", 0.125f},
    {"collectives", "fwd + bwd", 0.12f},
    {"a rank sends", "planned", 0.145f},
    {"worst error", "against T = 1", 0.12f},
    {"step", "measured", 0.135f},
};

std::vector<Cell> cells_of(const SweepPoint& p) {
  std::vector<Cell> cells{{std::to_string(p.tp), ""}};
  if (!p.planned()) return cells;
  const std::string held = p.measured_weight_bytes == p.weight_bytes
                               ? "as measured"
                               : point_bytes(p.measured_weight_bytes) + " held";
  cells.push_back({point_bytes(p.weight_bytes), p.measured ? held : ""});
  cells.push_back({bytes_text(p.ideal_weight_bytes), ""});
  cells.push_back({p.tp == 1 ? "all" : point_bytes(p.replicated_weight_bytes),
                   p.tp == 1 ? ""
                             : format_percent(static_cast<double>(p.replicated_weight_bytes) /
                                              static_cast<double>(p.weight_bytes))});
  cells.push_back({fmt::format("{} + {}", p.forward_collectives, p.backward_collectives), ""});
  cells.push_back({point_bytes(p.sent_bytes), ""});
  cells.push_back(
      {p.measured ? format_error(p.worst_relative_error) : "",
       p.measured ? (p.agrees ? "" : "breaks ") + std::string("≤ ") + format_error(p.bound) : ""});
  cells.push_back({p.measured ? format_seconds(p.measured_seconds) : "",
                   p.predicted_seconds > 0 ? format_seconds(p.predicted_seconds) + " est." : ""});
  return cells;
}

TextTable copied(const Sweep& sweep) {
  TextTable table{{{"T", Align::Right},
                   {"weights per rank, planned", Align::Right},
                   {"weights per rank, measured", Align::Right},
                   {"1/T", Align::Right},
                   {"replicated", Align::Right},
                   {"collectives per layer, forward + backward", Align::Right},
                   {"each rank sends", Align::Right},
                   {"worst relative error", Align::Right},
                   {"bound", Align::Right},
                   {"worst tensor"},
                   {"step, estimated", Align::Right},
                   {"step, measured", Align::Right},
                   {"refused"}},
                  {}};
  for (const SweepPoint& p : sweep.points) {
    table.rows.push_back(
        {std::to_string(p.tp), p.planned() ? point_bytes(p.weight_bytes) : "",
         p.measured ? point_bytes(p.measured_weight_bytes) : "",
         p.planned() ? bytes_text(p.ideal_weight_bytes) : "",
         p.planned() && p.tp > 1 ? point_bytes(p.replicated_weight_bytes) : "",
         p.planned() ? fmt::format("{} + {}", p.forward_collectives, p.backward_collectives) : "",
         p.planned() ? point_bytes(p.sent_bytes) : "", p.measured ? format_error(p.worst_relative_error) : "",
         p.measured ? format_error(p.bound) : "", p.worst_tensor, seconds_or(p.predicted_seconds, ""),
         seconds_or(p.measured_seconds, ""), p.refused});
  }
  return table;
}

/// Returns the height it took.
float draw_table(const Context& context, const Sweep& sweep, ImVec2 at, float width) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float line = context.px(17);
  float x = at.x;
  for (const SweepColumn& column : kColumns) {
    x += column.share * width;
    const float room = column.share * width - context.px(8);
    draw_text(list, {x, at.y}, in(type.note, theme.text),
              fitted(in(type.note, theme.text), column.head, room), Align::Right);
    draw_text(list, {x, at.y + line}, type.note, fitted(type.note, column.note, room), Align::Right);
  }
  float y = at.y + 2 * line + context.px(4);
  rule(context, {at.x, y}, width);
  y += context.px(6);
  const float first = at.x + kColumns[0].share * width;
  for (const SweepPoint& point : sweep.points) {
    const std::vector<Cell> cells = cells_of(point);
    const bool broken = point.measured && !point.agrees;
    x = at.x;
    for (size_t i = 0; i < cells.size(); ++i) {
      x += kColumns[i].share * width;
      const bool error = i == 6;
      const ImU32 ink = i == 0            ? theme.text
                        : error && broken ? theme.communication
                        : error           ? theme.agreement
                                          : theme.text;
      const float room = kColumns[i].share * width - context.px(8);
      draw_text(list, {x, y}, in(i == 0 ? type.strong : type.mono, ink),
                fitted(in(type.mono, ink), cells[i].text, room), Align::Right);
      draw_text(list, {x, y + line}, type.note, fitted(type.note, cells[i].note, room), Align::Right);
    }
    if (!point.refused.empty()) {
      // The reason is drawn in the place of the missing figures.
      const float from = point.planned() ? at.x + 0.77f * width : first + context.px(24);
      const float room = at.x + width - from;
      draw_text(list, {from, y}, type.note, fitted(type.note, point.refused, room));
    }
    ImGui::SetCursorScreenPos({at.x, y});
    ImGui::Dummy({width, point.planned() ? 2 * line : type.mono.size});
    if (ImGui::IsItemHovered() && !point.refused.empty()) show_tooltip(context, point.refused);
    if (ImGui::IsItemHovered() && point.measured)
      show_tooltip(context,
                   fmt::format("worst tensor: {}{}{}", point.worst_tensor,
                               broken ? "; the first that breaks its bound: " : "", point.first_broken));
    y += (point.planned() ? 2 * line : type.mono.size) + context.px(5);
  }
  return y - at.y;
}

/// Draws a bar for each T: the weights that a rank holds, the replicated part of them, and a line at 1/T.
void draw_weights(const Context& context, const Sweep& sweep, ImVec2 min, ImVec2 size) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_text(list, min, type.strong, "Weights a rank holds");
  const float head = context.px(44), foot = context.px(20);
  // The key to the bars.
  float x = min.x;
  const float key_y = min.y + context.px(22);
  const auto key = [&](const char* words, ImU32 colour, bool is_line) {
    const float box = context.px(10);
    if (is_line) {
      fill_rect(list, {x, key_y + box / 2}, {x + box * 1.6f, key_y + box / 2 + context.px(2)}, colour);
    } else {
      fill_rect(list, {x, key_y + context.px(1)}, {x + box, key_y + context.px(1) + box}, colour);
    }
    draw_text(list, {x + box * 2, key_y - context.px(1)}, type.note, words);
    x += box * 2 + text_width(type.note, words) + context.px(16);
  };
  key("cut", theme.forward, false);
  key("replicated", theme.dim, false);
  key("1/T of all", theme.text, true);
  const float bottom = min.y + size.y - foot, top = min.y + head + context.px(16);
  double most = 1;
  for (const SweepPoint& p : sweep.points)
    if (p.planned()) most = std::max({most, static_cast<double>(p.weight_bytes), p.ideal_weight_bytes});
  const float step = size.x / static_cast<float>(sweep.points.size());
  const float bar = std::min(step * 0.5f, context.px(56));
  for (size_t i = 0; i < sweep.points.size(); ++i) {
    const SweepPoint& p = sweep.points[i];
    const float middle = min.x + (static_cast<float>(i) + 0.5f) * step;
    draw_text(list, {middle, bottom + context.px(4)}, type.note, fmt::format("T = {}", p.tp), Align::Centre);
    if (!p.planned()) {
      draw_text(list, {middle, bottom - context.px(18)}, type.note, "refused", Align::Centre);
      continue;
    }
    const auto height = [&](double count) { return static_cast<float>(count / most) * (bottom - top); };
    const float whole = height(static_cast<double>(p.weight_bytes));
    // On one rank nothing is cut: the whole bar is what every rank would hold.
    const float same =
        p.tp == 1 ? whole : std::max(1.0f, height(static_cast<double>(p.replicated_weight_bytes)));
    // A T that has not run is an outline.
    if (p.measured) {
      fill_rect(list, {middle - bar / 2, bottom - whole}, {middle + bar / 2, bottom}, theme.forward);
    } else {
      fill_rect(list, {middle - bar / 2, bottom - whole}, {middle + bar / 2, bottom},
                faded(theme.forward, 0.25f));
      outline_rect(list, {middle - bar / 2, bottom - whole}, {middle + bar / 2, bottom}, theme.forward);
    }
    fill_rect(list, {middle - bar / 2, bottom - same}, {middle + bar / 2, bottom}, theme.dim);
    const float ideal = bottom - height(p.ideal_weight_bytes);
    fill_rect(list, {middle - bar * 0.8f, ideal - context.px(1)},
              {middle + bar * 0.8f, ideal + context.px(1)}, theme.text);
    draw_text(list, {middle, bottom - whole - context.px(18)}, type.mono_note, point_bytes(p.weight_bytes),
              Align::Centre);
  }
  rule(context, {min.x, bottom}, size.x);
}

/// The worst error of every T on a logarithmic axis, below its bound.
void draw_errors(const Context& context, const Sweep& sweep, ImVec2 min, ImVec2 size) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_text(list, min, type.strong, "Worst relative error against T = 1, logarithmic");
  const float foot = context.px(20);
  const float bottom = min.y + size.y - foot, top = min.y + context.px(44);
  double bound = 0, most = 0;
  for (const SweepPoint& p : sweep.points) {
    bound = std::max(bound, p.bound);
    most = std::max(most, p.worst_relative_error);
  }
  rule(context, {min.x, bottom}, size.x);
  const float step = size.x / static_cast<float>(sweep.points.size());
  for (size_t i = 0; i < sweep.points.size(); ++i)
    draw_text(list, {min.x + (static_cast<float>(i) + 0.5f) * step, bottom + context.px(4)}, type.note,
              fmt::format("T = {}", sweep.points[i].tp), Align::Centre);
  if (bound <= 0) {
    draw_text(list, {min.x, (top + bottom) / 2}, type.note,
              most > 0 ? "integers sum exactly: any error is a fault" : "not measured yet");
    return;
  }
  const double high = std::max(bound, most) * 4, low = bound * 1e-4;
  const auto place = [&](double error) {
    return bottom - static_cast<float>(log_fraction(std::max(error, low), low, high)) * (bottom - top);
  };
  const int lowest = static_cast<int>(std::ceil(std::log10(low))),
            highest = static_cast<int>(std::floor(std::log10(high)));
  for (int power = lowest; power <= highest; ++power) {
    const float y = place(std::pow(10, power));
    rule(context, {min.x, y}, size.x);
    draw_text(list, {min.x, y - type.note.size - context.px(1)}, type.note, fmt::format("1e{}", power));
  }
  draw_dashed_line(list, {min.x, place(bound)}, {min.x + size.x, place(bound)}, theme.communication,
                   std::max(1.0f, context.px(1.5f)), context.px(5));
  draw_text(list, {min.x + size.x, place(bound) - context.px(18)}, in(type.note, theme.communication),
            "bound " + format_error(bound), Align::Right);
  ImVec2 before{};
  bool has_before = false;
  for (size_t i = 0; i < sweep.points.size(); ++i) {
    const SweepPoint& p = sweep.points[i];
    if (!p.measured) {
      has_before = false;
      continue;
    }
    const ImVec2 at{min.x + (static_cast<float>(i) + 0.5f) * step, place(p.worst_relative_error)};
    const ImU32 ink = p.agrees ? theme.agreement : theme.communication;
    const bool exact = p.worst_relative_error == 0;  // a logarithmic axis has no zero: draw it at the bottom
    if (has_before && !exact) list->AddLine(before, at, faded(theme.agreement, 0.5f), context.px(1.5f));
    list->AddCircleFilled(at, context.px(5), ink);
    // The figure is below the point, because the bound may be above it.
    draw_text(list, {at.x, at.y + context.px(exact ? -22 : 8)}, type.mono_note,
              exact ? "exactly 0" : format_error(p.worst_relative_error), Align::Centre);
    before = at;
    has_before = !exact;
  }
}

/// T = 1 is the faster the more cores its rank has, so a comparison of T says who has how many.
std::string threads_words(const Settings& settings) {
  return settings.threads_per_rank == 0 ? "shared by the T ranks"
                                        : fmt::format("{} threads per rank", settings.threads_per_rank);
}

std::string explanation(const Context& context, const Sweep* sweep) {
  if (sweep == nullptr)
    return fmt::format(
        "One click plans T = {}, runs each here, compares every tensor with T = 1 and times it. The weights "
        "of a rank fall as 1/T; the error stays at the rounding floor.",
        fmt::join(swept_degrees(context.wanted()), ", "));
  const std::string stale = out_of_date(but_for_degree(sweep->settings), but_for_degree(context.wanted()));
  if (!stale.empty()) return stale + " Sweep again for the present settings.";
  const Settings& s = sweep->settings;
  return fmt::format("{}, {}, split {}, {}, {} × {}. Measured on {}, {}; a step is the fastest of three. {}",
                     s.model.title, s.block == Block::Model ? "whole model" : "one " + to_string(s.block),
                     s.split.name, to_string(s.dtype), s.batch, s.seq, sweep->measured_on, threads_words(s),
                     estimate_words(has_estimates(sweep->points), sweep->predicted_on));
}

}  // namespace

void draw_sweep(const Context& context) {
  const Sweep* sweep = context.comparison.sweep.get();
  const CompareHead head =
      compare_head(context, "Sweep of T", explanation(context, sweep), "Sweep T", why_not_measured(context));
  if (head.pressed)
    context.send(comparison_command::SweepDegrees{context.wanted(), swept_degrees(context.wanted())});
  const Type type(context);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  float y = at.y + context.px(4);
  if (!context.comparison.message.empty())
    y += draw_wrapped(ImGui::GetWindowDrawList(), {at.x, y}, in(type.note, context.theme.text),
                      as_sentence(context.comparison.message), room.x) +
         context.px(6);
  if (sweep != nullptr) {
    if (!context.comparison.measuring)
      copy_button(context, "copy sweep", {head.beside.x, head.beside.y - small_button_height(context) / 2},
                  [&] { return copied(*sweep); });
    const float table_top = y;
    y += draw_sideways(context, "sweep table", {at.x, y}, room.x, context.px(kLeastTable),
                       [&](ImVec2 place, float width) { return draw_table(context, *sweep, place, width); });
    copyable_table("sweep", {at.x, table_top}, {at.x + room.x, y}, [&] { return copied(*sweep); });
    y += context.px(10);
    const float gap = context.px(32);
    const bool abreast = room.x >= context.px(kLeastTable);
    const float width = abreast ? (room.x - gap) / 2 : room.x;
    const float height = within(at.y + room.y - y - context.px(4), context.px(136), context.px(320));
    draw_weights(context, *sweep, {at.x, y}, {width, height});
    if (!abreast) y += height + context.px(16);
    draw_errors(context, *sweep, {abreast ? at.x + width + gap : at.x, y}, {width, height});
    y += height;
    const Settings& of = sweep->settings;
    if (!out_of_date(but_for_degree(of), but_for_degree(context.wanted())).empty())
      fill_rect(ImGui::GetWindowDrawList(), {at.x, at.y}, {at.x + room.x, y},
                faded(context.theme.window, 0.55f));
  }
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({room.x, y - at.y});
}

}  // namespace shardlens::ui
