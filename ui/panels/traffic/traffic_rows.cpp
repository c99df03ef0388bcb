// Reads the conversions from a Plan and their times from a Result.
#include "ui/panels/traffic/traffic_rows.h"

#include <algorithm>
#include <iterator>

#include "engine/base/counted.h"
#include "engine/cost/price.h"
#include "ui/stage/meeting.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

void add_measured(TrafficRow& row, const Result& result, const TimeComparison& times) {
  const size_t step = static_cast<size_t>(row.step);
  double latest = -1;
  for (size_t rank = 0; rank < result.events.size(); ++rank) {
    if (result.events[rank].size() <= step) return;  // the run has not reached this step
    const StepEvent& event = result.events[rank][step];
    if (event.arrival_seconds > latest) {
      latest = event.arrival_seconds;
      row.last_rank = static_cast<int>(rank);
    }
  }
  row.measured = !result.events.empty();
  row.transfer_seconds = times.steps[step].measured_seconds;
  row.wait_seconds = times.steps[step].waited_seconds;
  row.mean = times.means[step];
  if (row.transfer_seconds > 0)
    row.bus_bytes_per_second = static_cast<double>(row.sent_bytes) / row.transfer_seconds;
}

TrafficTotal add(TrafficTotal sum, const TrafficRow& row) {
  sum.collectives += row.sends();
  sum.measured += row.sends() && row.measured;
  sum.sent_bytes += row.sent_bytes;
  sum.transfer_seconds += row.mean.measured_seconds;
  sum.wait_seconds += row.mean.waited_seconds;
  sum.predicted_seconds += row.predicted_seconds;
  return sum;
}

}  // namespace

std::string ring_formula(Collective collective, int64_t full_bytes, int ranks) {
  const std::string bytes = bytes_text(static_cast<double>(full_bytes));
  const std::string others = std::to_string(ranks - 1) + "/";
  if (ranks < 2) return {};
  switch (collective) {
    case Collective::AllReduce:
      return "2 × " + bytes + " × " + others + std::to_string(ranks);
    case Collective::ReduceScatter:
    case Collective::AllGather:
      return bytes + " × " + others + std::to_string(ranks);
    case Collective::AllToAll:
      return bytes + " × " + others + std::to_string(ranks * ranks);
    case Collective::Slice:
    case Collective::None:
      return {};
  }
  return {};
}

std::vector<TrafficRow> traffic_rows(const Plan& plan, const Result* result, const Hardware& hardware) {
  const Program& program = plan.program;
  // A run that still goes on is compared up to the step it has reached.
  std::shared_ptr<const TimeComparison> times;
  if (result && result->plan.get() == &plan)
    times = result->times ? result->times
                          : std::make_shared<const TimeComparison>(compare_times(plan, result->events));
  std::vector<TrafficRow> rows;
  for (const Step& step : program.steps) {
    if (!is_conversion(step.op)) continue;
    const Tensor& input = program.tensor(step.inputs.front());
    const Tensor& output = program.tensor(step.outputs.front());
    TrafficRow row;
    row.step = step.id;
    row.op = step.op;
    row.phase = step.phase;
    row.layer = step.layer;
    row.overlapped = step.overlapped;
    row.conjugate = step.conjugate;
    row.symbol = converted_words(program, step);
    row.from = input.layout;
    row.to = output.layout;
    row.shape = step.outputs.size() > 1 ? "several" : to_string(output.shape);
    row.full_bytes = converted_bytes(program, step, 0);
    row.sent_bytes = sent_bytes(program, step.id);
    const Ring ring = ring_of(program, step, hardware);
    row.formula = ring_formula(collective_of(step.op), row.full_bytes, group_ranks(program, step));
    row.why = stage::reason_of(program, step.id);
    if (row.sends())
      row.predicted_seconds = collective_seconds(collective_of(step.op), row.sent_bytes, ring, hardware);
    if (times && row.sends()) add_measured(row, *result, *times);
    rows.push_back(std::move(row));
  }
  return rows;
}

void add_beside(std::vector<TrafficRow>& rows, const Result& beside) {
  for (TrafficRow& row : rows) {
    if (!row.sends()) continue;
    const auto step = static_cast<size_t>(row.step);
    for (const std::vector<StepEvent>& rank : beside.events)
      if (step < rank.size())
        row.beside_seconds = std::max(row.beside_seconds, rank[step].transfer_seconds());
  }
}

std::vector<TrafficRow> rows_of_one_layer(const std::vector<TrafficRow>& rows, int layer) {
  std::vector<TrafficRow> shown;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(shown),
               [layer](const TrafficRow& row) { return row.layer < 0 || row.layer == layer; });
  return shown;
}

TrafficTotal total(const std::vector<TrafficRow>& rows, Phase phase) {
  TrafficTotal sum;
  for (const TrafficRow& row : rows)
    if (row.phase == phase) sum = add(sum, row);
  return sum;
}

TrafficTotal total(const std::vector<TrafficRow>& rows) {
  TrafficTotal sum;
  for (const TrafficRow& row : rows) sum = add(sum, row);
  return sum;
}

std::string in_words(const std::vector<TrafficRow>& rows, Phase phase) {
  std::vector<std::string> parts;
  for (const Operation& operation : operations()) {
    if (!is_collective(operation.op)) continue;
    const auto count = std::count_if(rows.begin(), rows.end(), [&](const TrafficRow& row) {
      return row.op == operation.op && row.phase == phase;
    });
    if (count > 0) parts.push_back(counted(count, operation.name));
  }
  if (parts.empty()) return "nothing";
  std::string words = parts.front();
  for (size_t i = 1; i < parts.size(); ++i) words += (i + 1 < parts.size() ? ", " : " and ") + parts[i];
  return words;
}

}  // namespace shardlens::ui
