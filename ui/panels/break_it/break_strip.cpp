// The error of every tensor of one pass, in the order in which they are computed: where it starts, and how
// far it spreads forward and then backward. The axis is logarithmic, because a wrong sum is eight orders of
// magnitude larger than a rounding error.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/runtime/snapshot.h"
#include "ui/lesson/lesson_view.h"
#include "ui/panels/break_it/break_parts.h"
#include "ui/panels/inspector/inspector.h"
#include "ui/panels/parts.h"
#include "ui/panels/tensor_words.h"
#include "ui/plan/shown_plan.h"
#include "ui/theme/phase_colour.h"
#include "ui/widgets/axis.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"
#include "ui/widgets/within.h"

namespace shardlens::ui {
namespace {

constexpr double kBelowBound = 1e-3;  ///< the axis begins at this multiple of the bound
constexpr double kTop = 10;
constexpr float kLeastColumn = 2;       ///< pixels at scale 1
constexpr float kDifferRow = 6;         ///< at the top: where ranks hold different bits, over thin bars
constexpr float kLineOfLetters = 0.8f;  ///< of a line's height: without the gap to the next
constexpr float kPale = 0.45f;          ///< of a bar's colour, below its top

/// The rectangle of the bars, and how errors become heights. Weights that are all right to the last bit stand
/// closer together: there is nothing to see of them, and the others' names need the room.
struct Axes {
  ImVec2 from, to;
  double low = 1e-9, high = kTop;
  size_t count = 0, close = 0;  ///< tensors, and how many stand closer: the first ones
  float close_width = 0;        ///< of these together

  float y(double error) const {
    const double fraction = std::isfinite(error) ? log_fraction(std::max(error, low), low, high) : 1;
    return std::round(to.y - static_cast<float>(fraction) * (to.y - from.y));
  }
  /// The left edge of a tensor's bar.
  float x(size_t index) const {
    const auto share = [](size_t part, size_t whole) {
      return whole > 0 ? static_cast<float>(part) / static_cast<float>(whole) : 0;
    };
    if (index < close) return std::round(from.x + close_width * share(index, close));
    const float left = from.x + close_width;
    return std::round(left + (to.x - left) * share(index - close, count - close));
  }
  /// The tensor whose bar is at `x`.
  size_t at(float x) const {
    size_t index = count - 1;
    while (index > 0 && this->x(index) > x) --index;
    return index;
  }
};

ImU32 colour_of(const Theme& theme, const Program& program, const TensorError& error) {
  if (!error.broken) return theme.agreement;
  if (error.step < 0) return theme.dim;
  return phase_colour(theme, program.step(error.step).phase);
}

std::string error_words(const TensorError& error) {
  if (error.relative_error == 0) return "right, to the last bit";
  return "relative error " + relative_error_text(error.relative_error);
}

std::string pass_words(const Program& program, const TensorError& error) {
  if (error.step < 0) return "a weight, before the pass";
  const Step& step = program.step(error.step);
  const std::string where = step.layer >= 0 ? fmt::format(", layer {}", step.layer) : "";
  return fmt::format("{}, step {}{}", to_string(step.phase), number_of(error.step, program.steps.size()),
                     where);
}

void select_like(const Context& context, const Program& broken, TensorId id) {
  const std::shared_ptr<const Plan> plan = shared_shown_plan(context.snapshot);
  if (!plan) return;
  const TensorId like = tensor_like(plan->program, broken.tensor(id));
  if (like != kNoTensor) select_tensor(context.view, plan->program, like);
}

void draw_grid(const Context& context, const Axes& axes) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  fill_rect(list, axes.from, axes.to, context.theme.card);
  const float least = type.mono_note.size + context.px(2);
  float last = axes.to.y + least;
  for (int power = static_cast<int>(std::ceil(std::log10(axes.low))); power <= 1; ++power) {
    if ((power % 3) != 0) continue;
    const float y = axes.y(std::pow(10.0, power));
    if (last - y < least) continue;
    if (y - axes.from.y < context.px(kDifferRow) + type.mono_note.size / 2)
      continue;  // the row of ≠ is there
    last = y;
    list->AddLine({axes.from.x, y + 0.5f}, {axes.to.x, y + 0.5f}, context.theme.line, 1);
    draw_text(list, {axes.from.x - context.px(6), y - type.mono_note.size / 2}, type.mono_note,
              power == 0 ? "1" : fmt::format("1e{}", power), Align::Right);
  }
}

/// In front of the bars: which of them end above it is what the line is for.
void draw_bound(const Context& context, const BreakReport& report, const Axes& axes) {
  const float bound = axes.y(report.bound);
  draw_dashed_line(ImGui::GetWindowDrawList(), {axes.from.x, bound}, {axes.to.x, bound}, context.theme.text,
                   context.px(1.5f), context.px(5));
}

/// A bar is pale below a full line at its height, so that many beside each other show a profile. Where ranks
/// hold different bits it has the mark ≠; over bars that are too thin for it, the row at the top has a tick.
void draw_bars(const Context& context, const Program& program, const BreakProbe& probe,
               const std::vector<StripColumn>& columns, const Axes& axes) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float cap = std::max(1.0f, std::round(context.px(2)));
  const float row = axes.from.y + context.px(kDifferRow);
  bool has_ticks = false;
  const TextStyle unequal{context.fonts.bold, context.px(kSmallSize), context.theme.text};
  const bool has_marks =  // all of them or none: bars differ by a pixel
      axes.to.x - axes.from.x - axes.close_width >=
      text_width(unequal, "≠") * static_cast<float>(axes.count - axes.close);
  for (const StripColumn& column : columns) {
    const TensorError& error = probe.errors[column.worst];
    const float left = axes.x(column.first);
    const float right = std::max(left + 1, axes.x(column.end));
    const float gap = right - left > context.px(4) ? context.px(1) : 0;
    const float top = std::min(axes.y(error.relative_error), axes.to.y - cap);
    const ImU32 colour = colour_of(context.theme, program, error);
    if (error.relative_error > 0 || column.broken) {
      fill_rect(list, {left, top}, {right - gap, axes.to.y}, mixed(context.theme.card, colour, kPale));
      fill_rect(list, {left, top}, {right - gap, top + cap}, colour);
    }
    if (!column.ranks_differ) continue;
    if (has_marks) {
      draw_text(list, {(left + right - gap) / 2, top - unequal.size}, unequal, "≠", Align::Centre);
    } else {
      has_ticks = true;
      fill_rect(list, {left, axes.from.y}, {right - gap, row}, context.theme.text);
    }
  }
  if (has_ticks)
    draw_text(list, {axes.from.x - context.px(6), (axes.from.y + row - unequal.size) / 2}, unequal, "≠",
              Align::Right);
}

/// Names the bars at their feet: beside each other, or upwards where a bar is as wide as a line is high. A
/// Partial tensor has the letter of its sum, so the sign that the Stage gives it stands beside the letter.
void draw_names(const Context& context, const Program& program, const BreakProbe& probe,
                const std::vector<StripColumn>& columns, const Axes& axes) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const TextStyle style = in(type.note, context.theme.text);
  const float foot = axes.to.y - context.px(3);
  for (const StripColumn& column : columns) {
    if (column.end - column.first > 1) continue;
    const Tensor& tensor = program.tensor(probe.errors[column.worst].tensor);
    const std::string name = tensor.symbol + (tensor.layout.kind == LayoutKind::Partial ? " Σ" : "");
    const float left = axes.x(column.first), right = axes.x(column.end), middle = (left + right) / 2;
    const float width = text_width(style, name);
    const bool level = width + context.px(3) <= right - left;
    if (!level && kLineOfLetters * style.size > right - left) continue;
    const float height = level ? style.size : width;
    const float top = axes.y(probe.errors[column.worst].relative_error);
    const bool is_low = top < axes.to.y - 1 && top > foot - height - context.px(2);
    const float bottom = is_low ? top - context.px(2) : foot;  // above a low bar
    if (level)
      draw_text(list, {middle, bottom - height}, style, name, Align::Centre);
    else
      draw_text_upwards(list, {middle, bottom}, style, name);
  }
}

/// "backward: 18 of 26 wrong, 8 with different bits on the ranks", and shorter forms.
std::vector<std::string> phase_words(const Context& context, const Program& program, const BreakProbe& probe,
                                     Phase phase) {
  if (keeps_findings_back(context)) return {to_string(phase)};
  const Spread all = spread(program, probe, phase);
  const auto differ = std::count_if(probe.errors.begin(), probe.errors.end(), [&](const TensorError& error) {
    return error.step >= 0 && program.step(error.step).phase == phase && !error.ranks_identical;
  });
  const std::string name = to_string(phase);
  const std::string wrong = fmt::format("{}: {} of {} wrong", name, all.broken, all.compared);
  if (differ == 0) return {wrong, name};
  return {fmt::format("{}, {} with different bits on the ranks", wrong, differ), wrong, name};
}

void draw_stretches(const Context& context, const Program& program, const BreakProbe& probe,
                    const std::vector<StripStretch>& stretches, const Axes& axes) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float first_row = axes.to.y + context.px(3), second_row = first_row + type.note.size + context.px(2);
  for (const StripStretch& stretch : stretches) {
    const float left = axes.x(stretch.first), right = axes.x(stretch.end);
    list->AddLine({left + 0.5f, axes.from.y}, {left + 0.5f, axes.to.y}, context.theme.line, 1);
    const std::string names[] = {stretch.name, stretch.brief};
    draw_text(list, {(left + right) / 2, first_row}, type.note,
              longest_fitting(type.note, names, right - left - context.px(4)), Align::Centre);
  }
  // Below them, the pass: one bar for all neighbouring stretches of a phase.
  for (size_t i = 0; i < stretches.size();) {
    size_t end = i + 1;
    while (end < stretches.size() && stretches[end].phase == stretches[i].phase &&
           stretches[end].weights == stretches[i].weights)
      ++end;
    const float left = axes.x(stretches[i].first), right = axes.x(stretches[end - 1].end);
    const bool forward = stretches[i].phase == Phase::Forward;
    const ImU32 colour = forward ? context.theme.forward : context.theme.backward;
    if (!stretches[i].weights) {
      fill_rect(list, {left + 1, second_row}, {right - 1, second_row + context.px(2)}, colour);
      const std::vector<std::string> forms = phase_words(context, program, probe, stretches[i].phase);
      draw_text(list, {(left + right) / 2, second_row + context.px(4)}, in(type.note, context.theme.text),
                longest_fitting(type.note, forms, right - left), Align::Centre);
    }
    i = end;
  }
}

/// Draws a line where the error starts and, above the bars, the tensor's name. A click on it selects the
/// tensor.
void draw_start(const Context& context, const BreakReport& report, const BreakProbe& probe, ImVec2 label_min,
                const Axes& axes) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Program& program = report.plan->program;
  if (keeps_findings_back(context)) {
    draw_text(list, {axes.from.x, label_min.y}, type.note, "The lesson asks where it starts.");
    return;
  }
  if (!probe.finds()) {
    draw_text(list, {axes.from.x, label_min.y}, in(type.body, context.theme.agreement),
              "every tensor is within its bound");
    return;
  }
  const TensorError& first = probe.first_error();
  const float x = axes.x(static_cast<size_t>(probe.first));
  const Tensor& tensor = program.tensor(first.tensor);
  const std::string name = "starts at " + tensor.symbol;
  const std::string words = fmt::format("{}, {}, {}", name, tensor.name, error_words(first));
  const float room = axes.to.x - axes.from.x;
  const std::string text = fitted(type.strong, text_width(type.strong, words) <= room ? words : name, room);
  const float width = text_width(type.strong, text);
  const float left = within(x - context.px(2), axes.from.x, axes.to.x - width);
  ImGui::SetCursorScreenPos({left, label_min.y});
  if (ImGui::InvisibleButton("starts at", {width, type.strong.size + context.px(4)}))
    select_like(context, program, first.tensor);
  const bool hovered = ImGui::IsItemHovered();
  tooltip(context, "Selects this tensor on the Stage, in the Inspector and on the Timeline.");
  draw_text(list, {left, label_min.y}, in(type.strong, hovered ? context.theme.forward : context.theme.text),
            text);
  const float below = label_min.y + type.strong.size + context.px(3);
  list->AddLine({x + 0.5f, below}, {x + 0.5f, axes.to.y}, context.theme.text, context.px(1.5f));
}

/// Marks the selected tensor: a frame around its bar, and an arrow below it.
void draw_selected(const Context& context, const Program& broken, const BreakProbe& probe, const Axes& axes) {
  const Plan* shown = shown_plan(context.snapshot);
  const TensorId selected = context.view.selected_tensor;
  if (shown == nullptr || selected == kNoTensor ||
      static_cast<size_t>(selected) >= shown->program.tensors.size())
    return;
  const std::string& name = shown->program.tensor(selected).name;
  for (size_t i = 0; i < probe.errors.size(); ++i) {
    if (broken.tensor(probe.errors[i].tensor).name != name) continue;
    const float left = axes.x(i), right = axes.x(i + 1);
    const float x = (left + right) / 2;
    const float size = context.px(5);
    const float top = std::min(axes.y(probe.errors[i].relative_error), axes.to.y - context.px(2));
    outline_rect(ImGui::GetWindowDrawList(), {left - context.px(1), top - context.px(1)}, {right, axes.to.y},
                 context.theme.text, 0, std::max(1.0f, context.px(1.5f)));
    ImGui::GetWindowDrawList()->AddTriangleFilled({x - size, axes.to.y + size}, {x + size, axes.to.y + size},
                                                  {x, axes.to.y}, context.theme.text);
    return;
  }
}

void answer_the_mouse(const Context& context, const BreakReport& report, const BreakProbe& probe,
                      const std::vector<StripColumn>& columns, const Axes& axes) {
  ImGui::SetCursorScreenPos(axes.from);
  const bool clicked =
      ImGui::InvisibleButton("error of every tensor", {axes.to.x - axes.from.x, axes.to.y - axes.from.y});
  if (!ImGui::IsItemHovered() || columns.empty()) return;
  const size_t index = axes.at(ImGui::GetIO().MousePos.x);
  const auto column =
      std::find_if(columns.begin(), columns.end(), [&](const StripColumn& one) { return index < one.end; });
  if (column == columns.end()) return;
  // Of several tensors in a column the mouse finds the first that is wrong: there a mistake may begin.
  size_t found = column->first;
  while (found < column->end && !probe.errors[found].broken) ++found;
  const TensorError& error = probe.errors[found < column->end ? found : column->worst];
  const Program& program = report.plan->program;
  const float left = axes.x(column->first);
  const float right = axes.x(column->end);
  outline_rect(ImGui::GetWindowDrawList(), {left - 1, axes.from.y}, {right + 1, axes.to.y},
               context.theme.faint);
  show_tooltip(context, fmt::format("{}\n{}\n{}{}", program.tensor(error.tensor).name,
                                    pass_words(program, error), error_words(error),
                                    error.ranks_identical ? "" : "\nits ranks hold different bits"));
  if (clicked) select_like(context, program, error.tensor);
}

struct LegendEntry {
  ImU32 colour;  ///< 0: a sign instead
  const char* sign;
  std::string words;
  std::string brief;  ///< where not all entries fit
};

/// The sizes of the legend's parts, in pixels.
struct LegendForm {
  explicit LegendForm(const Context& context)
      : type(context), swatch(context.px(10)), gap(context.px(6)), between(context.px(16)) {}
  float mark(const LegendEntry& entry) const {
    return entry.colour != 0 ? swatch : text_width(type.strong, entry.sign);
  }
  /// With the room up to the next one.
  float width(const LegendEntry& entry, const std::string& words) const {
    return mark(entry) + gap + text_width(type.note, words) + between;
  }
  Type type;
  float swatch, gap, between;
};

std::vector<LegendEntry> legend_entries(const Context& context, const BreakReport& report,
                                        const BreakProbe& probe) {
  // The colours of wrong tensors that the bars have; of one phase alone there is one.
  std::vector<LegendEntry> entries;
  for (const Phase phase : {Phase::Forward, Phase::Backward, Phase::Update})
    if (std::any_of(probe.errors.begin(), probe.errors.end(), [&](const TensorError& error) {
          return error.broken && error.step >= 0 && report.plan->program.step(error.step).phase == phase;
        }))
      entries.push_back({phase_colour(context.theme, phase), "", fmt::format("wrong, {}", to_string(phase)),
                         (entries.empty() ? "wrong: " : "") + to_string(phase)});
  entries.insert(entries.end(), {{0, "≠", "and its ranks hold different bits", "ranks differ"},
                                 {context.theme.agreement, "", "right (no bar: to the last bit)", "right"},
                                 {0, "- -", fmt::format("bound {}", format_error(report.bound)), "bound"}});
  return entries;
}

}  // namespace

std::vector<StripColumn> strip_columns(const BreakProbe& probe, size_t most) {
  std::vector<StripColumn> columns;
  const size_t count = probe.errors.size();
  const size_t wanted = std::min(count, std::max<size_t>(most, 1));
  for (size_t c = 0; c < wanted; ++c) {
    StripColumn column{c * count / wanted, (c + 1) * count / wanted};
    column.worst = column.first;
    for (size_t i = column.first; i < column.end; ++i) {
      const TensorError &one = probe.errors[i], &worst = probe.errors[column.worst];
      const bool worse = one.broken != worst.broken ? one.broken : one.relative_error > worst.relative_error;
      if (worse) column.worst = i;
      column.broken |= one.broken;
      column.ranks_differ |= !one.ranks_identical;
    }
    columns.push_back(column);
  }
  return columns;
}

std::vector<StripStretch> strip_stretches(const Program& program, const BreakProbe& probe) {
  std::vector<StripStretch> stretches;
  for (size_t i = 0; i < probe.errors.size(); ++i) {
    const StepId id = probe.errors[i].step;
    StripStretch next{"weights", "weights", Phase::Forward, true, i, i + 1};
    if (id >= 0) {
      const Step& step = program.step(id);
      next.weights = false;
      next.phase = step.phase;
      next.name = step.layer >= 0 ? fmt::format("layer {}", step.layer) : to_string(step.part);
      next.brief = step.layer >= 0 ? std::to_string(step.layer) : to_string(step.part);
    }
    const bool goes_on = !stretches.empty() && stretches.back().name == next.name &&
                         stretches.back().phase == next.phase && stretches.back().weights == next.weights;
    if (goes_on)
      stretches.back().end = i + 1;
    else
      stretches.push_back(std::move(next));
  }
  return stretches;
}

float least_legend_width(const Context& context, const BreakReport& report, const BreakProbe& probe) {
  const LegendForm form(context);
  float width = 0;
  for (const LegendEntry& entry : legend_entries(context, report, probe))
    width += form.width(entry, entry.brief);
  return width - form.between;
}

void draw_break_legend(const Context& context, const BreakReport& report, const BreakProbe& probe, ImVec2 at,
                       float right) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const LegendForm form(context);
  const std::vector<LegendEntry> entries = legend_entries(context, report, probe);
  float whole = -form.between;
  for (const LegendEntry& entry : entries) whole += form.width(entry, entry.words);
  const bool brief = at.x + whole > right;
  for (const LegendEntry& entry : entries) {
    const std::string& words = brief ? entry.brief : entry.words;
    const float width = form.width(entry, words);
    if (at.x + width - form.between > right) return;
    if (entry.colour != 0)
      fill_rect(list, {at.x, at.y - form.swatch / 2}, {at.x + form.swatch, at.y + form.swatch / 2},
                entry.colour);
    else
      draw_text(list, {at.x, at.y - type.strong.size * 0.55f}, type.strong, entry.sign);
    draw_text(list, {at.x + form.mark(entry) + form.gap, at.y - type.note.size / 2}, type.note, words);
    at.x += width;
  }
}

void draw_break_strip(const Context& context, const BreakReport& report, const BreakProbe& probe, ImVec2 min,
                      ImVec2 size) {
  const Type type(context);
  Axes axes;
  axes.low = std::max(report.bound, 1e-15) * kBelowBound;
  const float label = type.strong.size + context.px(6);
  const float below = 2 * type.note.size + context.px(12);
  axes.from = {min.x + text_width(type.mono_note, "1e-15") + context.px(8), std::round(min.y + label)};
  axes.to = {min.x + size.x - context.px(2), std::round(min.y + size.y - below)};
  if (axes.to.y - axes.from.y < context.px(20) || probe.errors.empty()) return;
  axes.count = probe.errors.size();
  const auto weights = std::find_if(probe.errors.begin(), probe.errors.end(),
                                    [](const TensorError& error) { return error.step >= 0; });
  const auto right_to_the_bit = [](const TensorError& error) {
    return error.relative_error == 0 && error.ranks_identical;
  };
  if (std::all_of(probe.errors.begin(), weights, right_to_the_bit) && weights != probe.errors.end()) {
    axes.close = static_cast<size_t>(weights - probe.errors.begin());
    axes.close_width =
        std::min(text_width(type.note, "weights") + context.px(6),
                 (axes.to.x - axes.from.x) * static_cast<float>(axes.close) / static_cast<float>(axes.count));
  }
  const auto most = static_cast<size_t>((axes.to.x - axes.from.x) / context.px(kLeastColumn));
  const std::vector<StripColumn> columns = strip_columns(probe, most);
  draw_grid(context, axes);
  draw_stretches(context, report.plan->program, probe, strip_stretches(report.plan->program, probe), axes);
  draw_bars(context, report.plan->program, probe, columns, axes);
  draw_names(context, report.plan->program, probe, columns, axes);
  draw_bound(context, report, axes);
  draw_start(context, report, probe, min, axes);
  draw_selected(context, report.plan->program, probe, axes);
  answer_the_mouse(context, report, probe, columns, axes);
}

}  // namespace shardlens::ui
