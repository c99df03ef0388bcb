// Series, ticks and notes of the growth charts.
#include "engine/runtime/measure/growth_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "engine/base/units.h"

namespace shardlens {
namespace {

constexpr size_t kMostNotes = 3;
constexpr double kMargin = 1.35;    // factor of the axes around their points
constexpr double kLabelRoom = 1.6;  // factor above them, for the text over a point

std::string seconds_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{} µs", three_digits(seconds * 1e6));
  if (seconds < 1) return fmt::format("{} ms", three_digits(seconds * 1e3));
  return fmt::format("{} s", three_digits(seconds));
}

// 1, 20 or 500 of a unit, as text for a tick.
std::string round_seconds_text(double seconds) {
  if (seconds < 0.9999e-3) return fmt::format("{:.3g} µs", seconds * 1e6);
  if (seconds < 0.9999) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} s", seconds);
}

std::string size_text(GrowthAxis axis, double size) {
  return axis == GrowthAxis::Model ? in_units(size, 1000, kCountUnits) : fmt::format("{:.0f}", size);
}

std::string title_of(GrowthAxis axis) {
  switch (axis) {
    case GrowthAxis::Model:
      return "A training step's time as the model grows";
    case GrowthAxis::Ranks:
      return "A training step's time as T grows";
    case GrowthAxis::Sequence:
      return "A training step's time as the sequence grows";
    case GrowthAxis::Batch:
      return "A training step's time as the batch grows";
  }
  return {};
}

std::string label_of(GrowthAxis axis) {
  switch (axis) {
    case GrowthAxis::Model:
      return "parameters";
    case GrowthAxis::Ranks:
      return "T (ranks)";
    case GrowthAxis::Sequence:
      return "tokens of a sequence";
    case GrowthAxis::Batch:
      return "sequences of a batch";
  }
  return {};
}

// The settings that all points of the axis have in common.
std::string subtitle_of(const Growth& growth, GrowthAxis axis, const Settings& s) {
  std::string what;
  if (axis != GrowthAxis::Model) what += s.model.title + " · ";
  if (axis != GrowthAxis::Ranks) what += fmt::format("T = {} · ", s.tp);
  what += to_string(s.dtype) + " · ";
  if (axis != GrowthAxis::Batch) what += fmt::format("batch {} · ", s.batch);
  if (axis != GrowthAxis::Sequence) what += fmt::format("sequence {} · ", s.seq);
  return what + growth.machine;
}

// Sizes that share a reason share a note.
std::vector<std::string> notes_of(const std::vector<const GrowthRow*>& rows, GrowthAxis axis) {
  std::vector<std::pair<std::string, std::string>> sizes_by_reason;
  for (const GrowthRow* row : rows) {
    std::string reason;
    if (!row->left_out.empty())
      reason = "left out: " + row->left_out;
    else if (!row->sampled.is_whole())
      reason = fmt::format("(hollow) measured with {} and {} of its {} layers, the others added",
                           row->sampled.fewer, row->sampled.more, row->point.settings.model.layers);
    if (reason.empty()) continue;
    const auto known = std::find_if(sizes_by_reason.begin(), sizes_by_reason.end(),
                                    [&](const auto& one) { return one.second == reason; });
    const std::string size = size_text(axis, row->point.size);
    if (known == sizes_by_reason.end()) {
      sizes_by_reason.emplace_back(size, reason);
    } else {
      known->first += ", " + size;
    }
  }
  std::vector<std::string> notes;
  for (const auto& [sizes, reason] : sizes_by_reason) notes.push_back(sizes + " " + reason);
  if (notes.size() > kMostNotes) {
    notes.resize(kMostNotes - 1);
    notes.push_back("and more: see the table");
  }
  return notes;
}

}  // namespace

Chart growth_chart(const Growth& growth, GrowthAxis axis) {
  std::vector<const GrowthRow*> rows;
  for (const GrowthRow& row : growth.rows)
    if (row.point.axis == axis) rows.push_back(&row);
  Chart chart;
  chart.title = title_of(axis);
  chart.x.label = label_of(axis);
  chart.y.label = "time of a step";
  chart.notes = notes_of(rows, axis);
  if (rows.empty()) return chart;
  chart.subtitle = subtitle_of(growth, axis, rows.front()->point.settings);
  ChartSeries model{"cost model, calibrated in the same run", ChartSeries::Look::Line, {}};
  ChartSeries measured{"measured: median, fastest and slowest, and its ratio to the cost model",
                       ChartSeries::Look::Points,
                       {}};
  double low = 0, high = 0;
  const auto widen = [&](double seconds) {
    low = low == 0 ? seconds : std::min(low, seconds);
    high = std::max(high, seconds);
  };
  for (const GrowthRow* row : rows) {
    chart.x.ticks.push_back({row->point.size, size_text(axis, row->point.size)});
    if (row->predicted_seconds <= 0) continue;
    model.points.push_back({row->point.size, row->predicted_seconds, 0, 0, false, {}});
    widen(row->predicted_seconds);
    if (row->seconds.empty()) continue;
    widen(row->lowest_seconds());
    widen(row->highest_seconds());
    measured.points.push_back(
        {row->point.size,
         row->median_seconds(),
         row->lowest_seconds(),
         row->highest_seconds(),
         !row->sampled.is_whole(),
         {seconds_text(row->median_seconds()), fmt::format("{:.2f} ×", row->of_prediction())}});
  }
  chart.x.low = rows.front()->point.size / kMargin;
  chart.x.high = rows.back()->point.size * kMargin;
  if (low > 0) {
    // Room over the highest point for its text, which is about a tenth of the page's height.
    const double whole = high / low * kMargin;
    chart.y.low = low / kMargin;
    chart.y.high = high * std::max(kLabelRoom, std::pow(whole, 0.14));
    for (const double step : round_steps(chart.y.low, chart.y.high))
      if (step >= chart.y.low && step <= chart.y.high)
        chart.y.ticks.push_back({step, round_seconds_text(step)});
  }
  chart.series = {model, measured};
  return chart;
}

}  // namespace shardlens
