// What a Replay reads: the list of a folder, a pass and its samples as a Result, and the metrics.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/config/hardware_file.h"
#include "engine/runtime/parity.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/recordings/replay_worker.h"
#include "engine/runtime/step_times.h"

namespace shardlens {
namespace {

constexpr int64_t kMetricRowsAtOnce = 1 << 12;
constexpr size_t kMostMetrics = 128;  // those of a training, and the norms of its layers' gradients
constexpr size_t kMostListed = 2'000;
constexpr const char* kExtension = ".shardlens";
constexpr int64_t kSampleBytes = int64_t{64} << 20;  // pictures and values of all tensors together

// When all ranks had done each step of a pass, in seconds from its beginning; never decreases.
// `pass_seconds`: when all steps are done if their own times are not known.
std::vector<double> done_seconds(const Result& result, double pass_seconds) {
  std::vector<double> done(result.plan->program.steps.size(), pass_seconds);
  if (!result.not_timed.empty()) return done;
  double latest = 0;
  for (size_t step = 0; step < done.size(); ++step) {
    for (const std::vector<StepEvent>& rank : result.events)
      if (step < rank.size()) latest = std::max(latest, rank[step].end_seconds);
    done[step] = latest;
  }
  return done;
}

void set_liveness(Result& result, bool live) {
  result.live = live;
  result.provenance = live ? fmt::format("live on {}, being recorded", result.machine)
                           : fmt::format("replayed on {}", result.machine);
}

}  // namespace

std::shared_ptr<const Plan> plan_of(const RecordingHeader& header) {
  Program program = header.program;
  try {
    find_hardware(program.settings.hardware);
  } catch (const Error&) {
    program.settings.hardware = kThisMachine;
  }
  const std::shared_ptr<const Plan> today = make_plan(std::move(program));
  auto plan = std::make_shared<Plan>(*today);
  for (size_t rank = 0; rank < plan->memory.size(); ++rank) {
    MemoryPlan& memory = plan->memory[rank];
    if (rank >= header.memory.size() || memory.arena_bytes == header.memory[rank].arena_bytes) continue;
    memory.arena_bytes = header.memory[rank].arena_bytes;  // as recorded, maybe by another version
    memory.held_bytes = memory.borrowed_bytes = {};
  }
  return plan;
}

RecordingList list_of(const std::string& wanted) {
  namespace fs = std::filesystem;
  RecordingList list;
  std::error_code failed;
  const fs::path folder =
      fs::weakly_canonical(wanted.empty() ? fs::current_path(failed) : fs::path(wanted), failed);
  list.folder = folder.string();
  list.running = running_recordings();
  fs::directory_iterator entries(folder, fs::directory_options::skip_permission_denied, failed);
  if (failed) {
    list.problem = fmt::format("{} cannot be read: {}", list.folder, failed.message());
    return list;
  }
  for (; entries != fs::directory_iterator() && list.entries.size() < kMostListed;
       entries.increment(failed)) {
    if (failed) break;
    const std::string name = entries->path().filename().string();
    const bool is_folder = entries->is_directory(failed);
    if (name.starts_with(".") || (!is_folder && entries->path().extension() != kExtension)) continue;
    const auto bytes = is_folder ? 0 : static_cast<int64_t>(entries->file_size(failed));
    list.entries.push_back({name, is_folder, failed ? 0 : bytes});
  }
  std::sort(list.entries.begin(), list.entries.end(), [](const auto& a, const auto& b) {
    return std::pair(a.is_folder, a.name) < std::pair(b.is_folder, b.name);
  });
  return list;
}

const std::vector<double>* MetricTable::column(const std::string& name) const {
  const auto at = std::find(names.begin(), names.end(), name);
  return at == names.end() ? nullptr : &values[static_cast<size_t>(at - names.begin())];
}

std::shared_ptr<const Result> replayed_result(const RecordingHeader& header,
                                              const std::shared_ptr<const Plan>& plan, RecordedPass pass,
                                              const std::vector<BytesByKind>& high_water_bytes, bool live) {
  const auto ranks = static_cast<size_t>(plan->program.tp());
  Result result;
  result.plan = plan;
  result.communicator = {header.communicator, header.communicator_reason};
  result.machine = header.machine;
  result.replayed = true;
  result.clock_step = header.clock_step_seconds;
  set_liveness(result, live);
  result.not_compared =
      "A recording holds no run on one rank to compare with. Run its settings here, and this machine "
      "compares them.";
  result.not_exact = fmt::format(
      "A recording keeps exact values of slices of up to {} elements, and pictures of larger ones.",
      grouped_text(kRecordedExactElements));
  // Only the first replica is shown, as for a run; the cost of late ranks is computed with all replicas.
  if (high_water_bytes.size() >= ranks)
    result.high_water_bytes.assign(high_water_bytes.begin(),
                                   high_water_bytes.begin() + static_cast<std::ptrdiff_t>(ranks));
  const size_t steps = plan->program.steps.size();
  const bool whole = std::all_of(pass.events.begin(), pass.events.end(),
                                 [steps](const auto& rank) { return rank.size() == steps; });
  if (!whole) {
    if (pass.untraced_seconds)
      result.not_timed =
          "The steps of this pass were not timed. A recorded training on GPUs times those of every second "
          "pass, "
          "because timing has a cost: go to the pass before or after this one.";
    pass.events.resize(ranks);
    result.events = std::move(pass.events);
    return std::make_shared<const Result>(std::move(result));
  }
  set_times(result, std::move(pass.events));
  TimeComparison times = compare_times(*plan, result.events);
  times.measured_on = header.machine;
  result.times = std::make_shared<const TimeComparison>(std::move(times));
  return std::make_shared<const Result>(std::move(result));
}

std::shared_ptr<const Result> with_liveness(const Result& result, bool live) {
  auto changed = std::make_shared<Result>(result);
  set_liveness(*changed, live);
  return changed;
}

Replay::Worker::Shown Replay::Worker::read_pass(const Recording& recording,
                                                const std::shared_ptr<const Plan>& plan, int64_t pass,
                                                const std::vector<BytesByKind>& high_water_bytes,
                                                bool live) const {
  Shown shown;
  shown.pass = pass;
  shown.time = recording.pass_time(pass);
  shown.result = replayed_result(recording.header(), plan, recording.pass(pass), high_water_bytes, live);
  shown.done = done_seconds(*shown.result, shown.time.seconds);
  return shown;
}

// Reads the samples of the pass into a new result, because the old one may still be in use.
void Replay::Worker::read_samples(const Recording& recording, const std::vector<bool>& wanted,
                                  const LatestSamples& known, Shown& shown) {
  LatestSamples latest = recording.latest_samples(shown.pass, wanted, known, kSampleBytes);
  auto result = std::make_shared<Result>(*shown.result);
  result->samples = latest.samples;
  result->sampled_in.assign(wanted.size(), -1);
  for (const std::vector<int64_t>& rank : latest.passes)
    for (size_t tensor = 0; tensor < wanted.size(); ++tensor)
      result->sampled_in[tensor] = std::max(result->sampled_in[tensor], rank[tensor]);
  result->parity = recording.parity(shown.pass, wanted);
  if (!result->parity.empty()) {
    result->parity_summary = summarise(result->plan->program, result->parity);
    result->not_compared.clear();
  }
  shown.samples = std::move(latest);
  shown.result = std::move(result);
}

// Reads one part of the metrics, so a command need not wait for all of them.
void Replay::Worker::read_metrics() {
  thin_metrics();
  const int64_t passes = now_.recording->passes, stride = metrics_.stride;
  const int64_t first = metric_rows_ * stride, end = std::min(passes, first + kMetricRowsAtOnce * stride);
  const auto rows = static_cast<size_t>((end + stride - 1) / stride);
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  for (std::vector<double>& column : metrics_.values) column.resize(rows, kNone);
  recording_->metrics(first, end, stride, [&](int64_t pass, const std::string& name, double value) {
    const auto at = std::ranges::find(metrics_.names, name);
    const auto column = static_cast<size_t>(at - metrics_.names.begin());
    if (at == metrics_.names.end()) {
      if (metrics_.names.size() == kMostMetrics) return;
      metrics_.names.push_back(name);
      metrics_.values.emplace_back(rows, kNone);
    }
    metrics_.values[column][static_cast<size_t>(pass / stride)] = value;
  });
  metric_rows_ = static_cast<int64_t>(rows);
  metrics_.complete = end >= passes;
  now_.metrics = std::make_shared<const MetricTable>(metrics_);
  publish();
}

// If a recording has grown too long, removes every second row.
void Replay::Worker::thin_metrics() {
  while (now_.recording->passes > metrics_.stride * kMostMetricRows) {
    metrics_.stride *= 2;
    metric_rows_ = (metric_rows_ + 1) / 2;
    for (std::vector<double>& column : metrics_.values) {
      for (size_t row = 0; 2 * row < column.size(); ++row) column[row] = column[2 * row];
      column.resize(static_cast<size_t>(metric_rows_));
    }
  }
}

}  // namespace shardlens
