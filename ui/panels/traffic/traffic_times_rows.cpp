// Reads the times of steps from a Result.
#include "ui/panels/traffic/traffic_times_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "engine/base/counted.h"
#include "ui/frame/notice.h"
#include "ui/panels/memory/memory_figures.h"

namespace shardlens::ui {

TimeKind time_kind(const Step& step) {
  if (step.overlapped) return TimeKind::Overlapped;
  if (is_collective(step.op)) return TimeKind::Collective;
  switch (operation(step.op).kind) {
    case OpKind::Product:
      return TimeKind::Product;
    case OpKind::Attention:
      return TimeKind::Attention;
    case OpKind::ElementWise:
    case OpKind::RowCopy:
    case OpKind::Conversion:
    case OpKind::Alias:
      return TimeKind::ElementWise;
  }
  return TimeKind::ElementWise;
}

std::string to_string(TimeKind kind) {
  switch (kind) {
    case TimeKind::Product:
      return "matrix products";
    case TimeKind::Attention:
      return "attention";
    case TimeKind::ElementWise:
      return "element-wise and norms";
    case TimeKind::Collective:
      return "collectives";
    case TimeKind::Overlapped:
      return "overlapped";
  }
  return {};
}

std::vector<TimeRow> time_rows(const Plan& plan, const Result& result, const Result* beside) {
  std::vector<TimeRow> rows;
  if (!result.times || result.times->steps.size() != plan.program.steps.size()) return rows;
  const bool has_beside =
      beside != nullptr && beside->times && beside->times->steps.size() == plan.program.steps.size();
  for (const Step& step : plan.program.steps) {
    if (step.op == Op::Identity) continue;
    const auto at = static_cast<size_t>(step.id);
    const StepTimes& both = result.times->steps[at];
    TimeRow row{step.id,
                step.name,
                time_kind(step),
                step.phase,
                step.layer,
                both.predicted_seconds,
                both.measured_seconds,
                both.waited_seconds};
    row.mean = result.times->means[at];
    if (has_beside) {
      row.beside_seconds = beside->times->steps[at].measured_seconds;
      row.mean_beside_seconds = beside->times->means[at].measured_seconds;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string why_not_timed(const Snapshot& snapshot) {
  if (has_stopped(snapshot)) return "No step of these settings was timed.";
  if (const std::string why = notice(snapshot); !why.empty()) return why;
  if (snapshot.result && !snapshot.result->not_timed.empty()) return snapshot.result->not_timed;
  const bool goes_on = snapshot.state == RunState::Planning || snapshot.state == RunState::Running ||
                       !snapshot.activity.empty();
  return goes_on ? "The times appear when all steps have run."
                 : "The times appear when all steps have run: press Run.";
}

std::vector<TimeRow> times_of_one_layer(const std::vector<TimeRow>& rows, int layer) {
  std::vector<TimeRow> shown;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(shown),
               [layer](const TimeRow& row) { return row.layer < 0 || row.layer == layer; });
  return shown;
}

TimeTotal total(const std::vector<TimeRow>& rows, TimeKind kind) {
  TimeTotal sum;
  for (const TimeRow& row : rows) {
    if (row.kind != kind) continue;
    ++sum.steps;
    sum.predicted_seconds += row.mean.predicted_seconds;
    sum.measured_seconds += row.mean.measured_seconds;
    sum.waited_seconds += row.mean.waited_seconds;
    sum.beside_seconds += row.mean_beside_seconds;
  }
  return sum;
}

std::string difference_text(double seconds, double other_seconds) {
  const double ratio = seconds / other_seconds;
  if (ratio > 2) return "× " + ratio_text(ratio);
  if (ratio < 0.5) return "÷ " + ratio_text(1 / ratio);
  return fmt::format("{:+.0f} %", 100 * (ratio - 1));
}

std::string short_of_cores(const Settings& settings, const Hardware& hardware) {
  const int ranks = settings.tp * settings.dp;
  if (settings.backend != BackendChoice::Cpu || ranks <= hardware.ranks_per_node) return {};
  return fmt::format(
      "{} ranks share {}. The predictions assume a core for each rank, so collectives take longer than "
      "predicted if ranks wait for a core.",
      ranks, counted(hardware.ranks_per_node, "core"));
}

}  // namespace shardlens::ui
