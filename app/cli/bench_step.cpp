// `bench step`: times a layer, or a whole model's training step, and compares it with the GEMM ceiling and
// its plan.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/cli/bench.h"
#include "app/cli/late_report.h"
#include "app/cli/op_times.h"
#include "app/cli/or_null.h"
#include "engine/base/rate.h"
#include "engine/base/units.h"
#include "engine/device/device.h"
#include "engine/io/json_text.h"
#include "engine/runtime/measure/step_bench.h"
#include "engine/runtime/plan.h"

namespace shardlens::cli {
namespace {

using nlohmann::ordered_json;

// Prints predicted and measured times for each kind of step: the mean of the ranks, without waiting.
void print_times(const TimeComparison& times, const Program& program) {
  std::map<std::pair<Op, bool>, StepTimes> by_op;
  for (const Step& step : program.steps) {
    const StepTimes& both = times.means[static_cast<size_t>(step.id)];
    StepTimes& sum = by_op[{step.op, step.overlapped}];
    sum.predicted_seconds += both.predicted_seconds;
    sum.measured_seconds += both.measured_seconds;
  }
  fmt::print("\n{:<22} {:>12} {:>12}\n", "", "predicted", "measured");
  for (const auto& [kind, both] : by_op) {
    if (std::max(both.predicted_seconds, both.measured_seconds) < times.measured_seconds / 1000) continue;
    fmt::print("  {:<20} {:>9.2f} ms {:>9.2f} ms\n", op_name(kind.first, kind.second),
               both.predicted_seconds * 1e3, both.measured_seconds * 1e3);
  }
  fmt::print("  {:<20} {:>9.2f} ms {:>9.2f} ms {:>+8.1f} %\n", "all", times.predicted_seconds * 1e3,
             times.measured_seconds * 1e3, 100 * times.error());
  fmt::print("predicted on {}\nmeasured on {}, the fastest run, kinds of steps as the mean of the ranks\n",
             times.predicted_on, times.measured_on);
}

void print_memory(const StepBench& bench, const Settings& settings) {
  fmt::print("\nmemory of rank 0      {} bytes high-water, {} planned\n",
             grouped_text(bench.high_water_bytes[0]), grouped_text(bench.planned_bytes[0]));
  if (bench.step_resident_bytes == 0 || settings.backend != BackendChoice::Cpu) return;
  fmt::print(
      "memory of the process {} bytes resident at the step's peak, {:.3f} × the {} planned for its ranks\n",
      grouped_text(bench.step_resident_bytes), bench.resident_of_plan(),
      grouped_text(bench.planned_here_bytes));
  fmt::print(
      "                      without what it held before they began; {} until the first step was done\n",
      grouped_text(bench.start_resident_bytes));
}

}  // namespace

void print_head(const Settings& settings, const char* whole_model, const std::string& split) {
  fmt::print("{} · {} · T = {} · D = {} · {}{} · batch {} × sequence {} · {}\n\n", settings.model.title,
             settings.block == Block::Model ? whole_model : "one " + to_string(settings.block), settings.tp,
             settings.dp, split.empty() ? "" : "split " + split + " · ", to_string(settings.dtype),
             settings.batch, settings.seq, machine_description(settings));
}

int bench_step(const CommonOptions& options, int repetitions, const RecordOptions& record) {
  Settings settings = to_settings(options);
  settings.update = settings.block == Block::Model;  // a whole step: with clipping and AdamW
  const std::shared_ptr<const Plan> plan = make_plan(settings);
  std::unique_ptr<Recorder> recorder;
  StepBench bench;
  run_recorded(recorder, [&] {
    bench = shardlens::bench_step(plan, repetitions, [&](const Executor& executor) {
      recorder = make_recorder(record, "bench step", *plan, executor.communicator());
      return recorder.get();
    });
  });
  const int recorded = finish_recording(recorder.get(), record, options.json ? stderr : stdout);
  const Settings& s = plan->program.settings;
  if (options.json) {
    const double predicted = bench.times.predicted_seconds;
    const bool is_resident = bench.step_resident_bytes > 0;
    fmt::print("{}\n", json_text(ordered_json{
                           {"step_seconds", bench.median_seconds},
                           {"lowest_seconds", bench.lowest_seconds},
                           {"highest_seconds", bench.highest_seconds},
                           {"repetitions", repetitions},
                           {"flops", bench.flops},
                           {"flops_per_second", bench.flops_per_second()},
                           {"gemm_ceiling_flops", bench.ceiling_flops},
                           {"of_gemm_ceiling", bench.of_ceiling},
                           {"lowest_of_gemm_ceiling", bench.lowest_of_ceiling},
                           {"highest_of_gemm_ceiling", bench.highest_of_ceiling},
                           {"collective_seconds", bench.collective_seconds},
                           {"op_seconds", op_times_json(bench.op_times)},
                           {"adamw_bytes_per_second",
                            or_null(bench.adamw_bytes_per_second, bench.adamw_bytes_per_second > 0)},
                           {"predicted_seconds", or_null(predicted, predicted > 0)},
                           {"predicted_on", bench.times.predicted_on},
                           {"late", late_json(plan->program, bench.late)},
                           {"planned_bytes_per_rank", bench.planned_bytes},
                           {"high_water_bytes_per_rank", bench.high_water_bytes},
                           {"planned_bytes_here", bench.planned_here_bytes},
                           {"step_resident_bytes", or_null(bench.step_resident_bytes, is_resident)},
                           {"start_resident_bytes", or_null(bench.start_resident_bytes, is_resident)},
                           {"resident_of_plan", or_null(bench.resident_of_plan(), is_resident)}}));
    return recorded;
  }
  print_head(s, "whole model", s.split.name);
  fmt::print("{:<21} {:.2f} ms median ({:.2f} … {:.2f} ms, {} repetitions)\n",
             s.update ? "whole step with AdamW" : "forward and backward", bench.median_seconds * 1e3,
             bench.lowest_seconds * 1e3, bench.highest_seconds * 1e3, repetitions);
  fmt::print("in collectives        {:.2f} ms of it, waiting included\n", bench.collective_seconds * 1e3);
  fmt::print("matrix products       {:.2f} GFLOP, the masked half of attention left out\n",
             static_cast<double>(bench.flops) / 1e9);
  fmt::print("speed                 {:.1f} GFLOP/s, all ranks together\n", bench.flops_per_second() / 1e9);
  fmt::print("GEMM ceiling          {:.1f} GFLOP/s, measured in turn with the step\n",
             bench.ceiling_flops / 1e9);
  fmt::print("of the ceiling        {:.1f} % ({:.1f} … {:.1f})\n", 100 * bench.of_ceiling,
             100 * bench.lowest_of_ceiling, 100 * bench.highest_of_ceiling);
  fmt::print("\nrank 0 in the fastest repetition\n");
  print_op_times(bench.op_times, bench.lowest_seconds);
  if (bench.adamw_bytes_per_second > 0)
    fmt::print("\nmemory, by AdamW      {:.1f} GB/s read and written by rank 0, all ranks at it\n",
               bench.adamw_bytes_per_second / 1e9);
  if (!bench.late.empty()) fmt::print("\n");
  print_late(stdout, plan->program, bench.late);
  if (bench.times.known()) print_times(bench.times, plan->program);
  if (s.block == Block::Model)
    fmt::print("\ntokens                {:.0f} tokens/s\n",
               per_second(static_cast<double>(s.batch * s.seq), bench.median_seconds));
  print_memory(bench, s);
  return recorded;
}

}  // namespace shardlens::cli
