// The costs of each split, below its Stage. Every figure says whether it is planned, estimated or measured.
// Bars with one scale for all columns show which split has more of it.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

#include "engine/runtime/measure/rounds.h"
#include "ui/panels/compare/compare_pages.h"
#include "ui/panels/parts.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

constexpr float kLeastBesideLabel = 230;  ///< of a column whose figures stand beside their labels
constexpr float kLeastForTwo = 400;       ///< of a column, for two figures side by side

/// One figure of every split.
struct Total {
  std::string label, short_label;
  std::vector<std::string> texts;
  std::vector<double> amounts;  ///< 0: unknown, no bar
  ImU32 colour = 0;
};

template <class Amount, class Text>
Total total(const SplitTrials& trials, const char* label, const char* short_label, ImU32 colour,
            Amount amount, Text text) {
  Total all{label, short_label, {}, {}, colour};
  for (const SplitTrial& trial : trials.trials) {
    all.amounts.push_back(trial.plan ? static_cast<double>(amount(trial)) : 0);
    all.texts.push_back(trial.plan ? text(trial) : std::string());
  }
  return all;
}

std::string not_measured(const SplitTrial& trial) {
  return trial.refused.empty() ? "not yet" : "cannot run here";
}

std::string total_bytes(int64_t count) {
  return bytes_text(static_cast<double>(count));
}

/// "41.2 ms (38.0 to 47.1)": the median of the rounds, and their spread.
std::string measured(const SplitTrial& trial) {
  if (!trial.result) return not_measured(trial);
  const RoundSpread spread = spread_of(trial.round_seconds);
  const std::string median = format_seconds(spread.median);
  if (trial.round_seconds.size() < 2) return median;
  return fmt::format("{} ({} to {})", median, format_seconds(spread.least), format_seconds(spread.most));
}

std::string estimated(const SplitTrial& trial) {
  return trial.predicted_seconds > 0 ? format_seconds(trial.predicted_seconds) : "no estimate";
}

/// The figures that are counted in the Programs.
std::vector<Total> counted(const Theme& theme, const SplitTrials& trials) {
  return {total(
              trials, "collectives, forward + backward", "collectives", theme.communication,
              [](const SplitTrial& t) { return t.forward_collectives + t.backward_collectives; },
              [](const SplitTrial& t) {
                return fmt::format("{} + {}", t.forward_collectives, t.backward_collectives);
              }),
          total(
              trials, "each rank sends, planned", "sends, planned", theme.communication,
              [](const SplitTrial& t) { return t.sent_bytes; },
              [](const SplitTrial& t) { return total_bytes(t.sent_bytes); })};
}

/// All figures, each in a row of its own.
std::vector<Total> totals_of(const Theme& theme, const SplitTrials& trials) {
  std::vector<Total> all = counted(theme, trials);
  all.push_back(total(
      trials, "rank 0 computes, planned", "computes, planned", theme.forward,
      [](const SplitTrial& t) { return t.flops; },
      [](const SplitTrial& t) { return format_flop_count(static_cast<double>(t.flops)); }));
  all.push_back(total(
      trials, "memory per rank, planned", "memory, planned", theme.forward,
      [](const SplitTrial& t) { return t.planned_bytes; },
      [](const SplitTrial& t) { return total_bytes(t.planned_bytes); }));
  all.push_back(total(
      trials, "memory per rank, measured", "memory, measured", theme.forward,
      [](const SplitTrial& t) { return t.measured_bytes; },
      [](const SplitTrial& t) { return t.result ? total_bytes(t.measured_bytes) : not_measured(t); }));
  if (has_estimates(trials.trials))
    all.push_back(total(
        trials, "a step, estimated", "step, estimated", theme.backward,
        [](const SplitTrial& t) { return t.predicted_seconds; }, estimated));
  all.push_back(total(
      trials, "a step, measured", "step, measured", theme.backward,
      [](const SplitTrial& t) { return t.measured_seconds; }, measured));
  return all;
}

/// The figures for a low window: the planned or estimated one and the measured one share a row.
std::vector<Total> few_totals_of(const Theme& theme, const SplitTrials& trials) {
  std::vector<Total> all = counted(theme, trials);
  all.push_back(total(
      trials, "memory planned, measured", "memory", theme.forward,
      [](const SplitTrial& t) { return t.planned_bytes; },
      [](const SplitTrial& t) {
        return total_bytes(t.planned_bytes) + ", " +
               (t.result ? total_bytes(t.measured_bytes) : not_measured(t));
      }));
  const bool both = has_estimates(trials.trials);
  all.push_back(total(
      trials, both ? "a step estimated, measured" : "a step, measured", "step", theme.backward,
      [](const SplitTrial& t) { return t.result ? t.measured_seconds : t.predicted_seconds; },
      [both](const SplitTrial& t) {
        return (both ? estimated(t) + ", " : "") +
               (t.result ? format_seconds(t.measured_seconds) : not_measured(t));
      }));
  return all;
}

TextTable copied(const std::vector<Total>& totals, const SplitTrials& trials) {
  TextTable table{{{"of each split"}}, {}};
  for (const SplitTrial& trial : trials.trials) table.columns.push_back({trial.split.name, Align::Right});
  for (const Total& one : totals) {
    table.rows.push_back({one.label});
    table.rows.back().insert(table.rows.back().end(), one.texts.begin(), one.texts.end());
  }
  return table;
}

}  // namespace

float draw_totals(const Context& context, const SplitTrials& trials, const std::vector<float>& lefts, float y,
                  float width, bool low, bool draw) {
  const Type type(context);
  const Theme& theme = context.theme;
  // In a narrow column a figure stands below its label.
  const bool narrow = width < context.px(kLeastBesideLabel);
  const float label_height = narrow ? context.px(16) : 0, row = context.px(22) + label_height;
  const std::vector<Total> totals = low || narrow ? few_totals_of(theme, trials) : totals_of(theme, trials);
  // In a low window the rows of the Stage need the height: two figures stand side by side.
  const size_t in_a_row = low && width >= context.px(kLeastForTwo) ? 2 : 1;
  const float height = row * static_cast<float>((totals.size() + in_a_row - 1) / in_a_row) + context.px(6);
  if (!draw) return height;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float right_end = lefts.back() + width;
  copyable_table("totals", {lefts.front(), y}, {right_end, y + height},
                 [&] { return copied(totals_of(theme, trials), trials); });
  rule(context, {lefts.front(), y}, right_end - lefts.front());
  y += context.px(6);
  const float share = width / static_cast<float>(in_a_row);
  for (size_t at = 0; at < totals.size(); ++at) {
    const Total& one = totals[at];
    const double most = *std::max_element(one.amounts.begin(), one.amounts.end());
    const size_t across = at % in_a_row;
    for (size_t i = 0; i < lefts.size(); ++i) {
      const float begin = lefts[i] + share * static_cast<float>(across);
      const float right = begin + share - context.px(8), left = begin + context.px(8);
      const float value = narrow ? 0 : text_width(type.mono, one.texts[i]);
      const bool whole = text_width(type.note, one.label) + value + context.px(12) <= right - left;
      const std::string& label = whole ? one.label : one.short_label;
      draw_text(list, {left, y + context.px(1)}, type.note,
                fitted(type.note, label, right - left - value - context.px(8)));
      const bool known = one.amounts[i] > 0 || trials.trials[i].forward_collectives == 0;
      draw_text(list, {right, y + label_height}, known ? type.mono : type.note, one.texts[i], Align::Right);
      if (most > 0 && one.amounts[i] > 0) {
        const float length = (right - left) * static_cast<float>(one.amounts[i] / most);
        const float bar = y + row - context.px(4);
        fill_rect(list, {left, bar}, {left + std::max(1.0f, length), bar + std::max(1.0f, context.px(2))},
                  faded(one.colour, one.amounts[i] == most ? 0.95f : 0.6f));
      }
    }
    if (across + 1 == in_a_row) y += row;
  }
  return height;
}

}  // namespace shardlens::ui
