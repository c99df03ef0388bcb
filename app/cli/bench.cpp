// `bench gemm` and `bench allreduce` measure speeds, each as a ratio to a ceiling measured in the same run.
// `bench calibrate` measures this machine for predictions. The other measurements have files of their own
// (bench.h).
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/cli/bench.h"
#include "app/cli/bench_timeline.h"
#include "app/cli/options.h"
#include "app/cli/plan_reports.h"
#include "app/cli/record.h"
#include "app/cli/table.h"
#include "app/cli/verbs.h"
#include "app/cli/world.h"
#include "app/command_line/outputs.h"
#include "app/command_line/request.h"
#include "engine/base/error.h"
#include "engine/base/rate.h"
#include "engine/base/units.h"
#include "engine/comm/allreduce_bench.h"
#include "engine/config/hardware_file.h"
#include "engine/io/file_problem.h"
#include "engine/io/json_text.h"
#include "engine/planner/planner.h"
#include "engine/runtime/backend.h"
#include "engine/runtime/measure/calibrate.h"
#include "engine/runtime/measure/ceiling.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/processes/process_world.h"

namespace shardlens::cli {
namespace {

using nlohmann::ordered_json;

std::string shape_text(const GemmShape& shape) {
  return fmt::format("{}{} [{} × {} × {}]{}", shape.transpose_a ? "Aᵀ·B" : "A·B",
                     shape.transpose_b ? "ᵀ" : "", shape.m, shape.n, shape.k,
                     shape.wide_result ? " in fp32" : "");
}

int bench_gemm(const CommonOptions& options, int repetitions) {
  const Settings settings = to_settings(options);
  const Program program = plan_program(settings);
  const int ranks = std::min(settings.tp, available_cores());
  const int threads =
      settings.threads_per_rank > 0 ? settings.threads_per_rank : std::max(1, available_cores() / ranks);
  const GemmCeiling ceiling =
      settings.backend == BackendChoice::Cpu
          ? measure_gemm_ceiling(settings.dtype, gemm_shapes(program, 0), ranks, threads, repetitions)
          : measure_ceiling(settings, gemm_shapes(program, 0), repetitions);
  if (options.json) {
    ordered_json rates = ordered_json::array();
    for (const GemmRate& rate : ceiling.rates) {
      rates.push_back({{"m", rate.shape.m},
                       {"n", rate.shape.n},
                       {"k", rate.shape.k},
                       {"transpose_a", rate.shape.transpose_a},
                       {"transpose_b", rate.shape.transpose_b},
                       {"wide_result", rate.shape.wide_result},
                       {"median_flops", rate.median_flops},
                       {"lowest_flops", rate.lowest_flops},
                       {"highest_flops", rate.highest_flops},
                       {"of_ceiling", ratio_or_zero(rate.median_flops, ceiling.best().median_flops)}});
    }
    fmt::print("{}\n", json_text(ordered_json{{"gemm_ceiling_flops", ceiling.best().median_flops},
                                              {"ranks", ceiling.ranks},
                                              {"threads_per_rank", ceiling.threads_per_rank},
                                              {"repetitions", ceiling.repetitions},
                                              {"shapes", rates}}));
    return 0;
  }
  fmt::print("Matrix products of one {} layer at T = {}, {}, {} ranks × {} threads, {} repetitions, {}\n\n",
             settings.model.title, settings.tp, to_string(settings.dtype), ceiling.ranks,
             ceiling.threads_per_rank, ceiling.repetitions, machine_description(settings));
  fmt::print("{:<34} {:>16} {:>24} {:>12}\n", "product on one rank", "GFLOP/s median", "lowest … highest",
             "of ceiling");
  for (const GemmRate& rate : ceiling.rates) {
    fmt::print("{:<34} {:>16.1f} {:>24} {:>11.1f}%\n", shape_text(rate.shape), rate.median_flops / 1e9,
               fmt::format("{:.1f} … {:.1f}", rate.lowest_flops / 1e9, rate.highest_flops / 1e9),
               100 * ratio_or_zero(rate.median_flops, ceiling.best().median_flops));
  }
  fmt::print("\nGEMM ceiling: {:.1f} GFLOP/s, all ranks together\n", ceiling.best().median_flops / 1e9);
  return 0;
}

// On GPUs, larger tensors are measured too, because only they use the full speed of the links.
constexpr int64_t kGpuTensorBytes = int64_t{256} << 20;

std::vector<AllReducePoint> measure_all_reduce(AllReduceBench bench, const Settings& settings) {
  if (ProcessWorld* const processes = joined_processes(); processes != nullptr) {
    if (processes->choose(settings).on_gpus) bench.sizes_bytes.push_back(kGpuTensorBytes);
    return processes->bench_all_reduce(bench, settings);
  }
  const std::shared_ptr<Backend> backend = make_backend(settings);
  if (!backend->on_gpus()) return bench_all_reduce(bench);
  bench.sizes_bytes.push_back(kGpuTensorBytes);
  return bench_all_reduce(bench, {[backend](int rank) { return backend->make_device(rank, 1); },
                                  [backend](int ranks) { return backend->make_group(ranks, ranks); }});
}

// "threads (local)", "4 processes on 1 machine, Open MPI 4.1.4 (nccl), in the memory of cuda:0, …"
std::string ranks_text(const AllReducePoint& point) {
  const ProcessWorld* const processes = joined_processes();
  const std::string over = processes == nullptr ? "threads" : processes->info().reason;
  return fmt::format("{} ({}){}", over, point.communicator,
                     point.device.empty() ? "" : ", in the memory of " + point.device);
}

int bench_allreduce(const CommonOptions& options) {
  const Settings settings = to_settings(options);
  AllReduceBench bench;
  bench.ranks = {settings.tp};
  bench.dtype = settings.dtype;
  bench.sizes_bytes.push_back(int64_t{64} << 20);  // more than caches hold
  const std::vector<AllReducePoint> points = measure_all_reduce(bench, settings);
  if (options.json) {
    ordered_json rows = ordered_json::array();
    for (const AllReducePoint& p : points) {
      rows.push_back({{"ranks", p.ranks},
                      {"tensor_bytes", p.bytes},
                      {"communicator", p.communicator},
                      {"device", p.device.empty() ? ordered_json() : ordered_json(p.device)},
                      {"core_per_rank", p.core_per_rank},
                      {"median_seconds", p.median_seconds},
                      {"p10_seconds", p.p10_seconds},
                      {"p90_seconds", p.p90_seconds},
                      {"pass_seconds", p.pass_seconds},
                      {"of_pass", p.of_pass},
                      {"of_pass_p10", p.of_pass_p10},
                      {"of_pass_p90", p.of_pass_p90},
                      {"algorithm_bytes_per_second", p.algorithm_bytes_per_second},
                      {"bus_bytes_per_second", p.bus_bytes_per_second}});
    }
    fmt::print("{}\n", json_text(ordered_json{{"allreduce", rows}}));
    return 0;
  }
  fmt::print(
      "All-reduce over {}, {}, compared with a pass in which the same ranks read and write the same memory "
      "once\n\n",
      ranks_text(points.front()), machine_description(settings));
  fmt::print("{:>5} {:>10} {:>6} {:>12} {:>22} {:>12} {:>18} {:>10} {:>10}\n", "ranks", "tensor", "core",
             "median", "10 % … 90 %", "the pass", "of it, 10 … 90 %", "alg. GB/s", "bus GB/s");
  for (const AllReducePoint& p : points) {
    const std::string core = !p.device.empty() ? "GPU" : p.core_per_rank ? "own" : "shared";
    fmt::print(
        "{:>5} {:>10} {:>6} {:>9.2f} µs {:>22} {:>9.2f} µs {:>18} {:>10.2f} {:>10.2f}\n", p.ranks,
        bytes_text(static_cast<double>(p.bytes)), core, p.median_seconds * 1e6,
        fmt::format("{:.2f} … {:.2f} µs", p.p10_seconds * 1e6, p.p90_seconds * 1e6), p.pass_seconds * 1e6,
        fmt::format("{:.0f} % {:.0f} … {:.0f}", p.of_pass * 100, p.of_pass_p10 * 100, p.of_pass_p90 * 100),
        p.algorithm_bytes_per_second / 1e9, p.bus_bytes_per_second / 1e9);
  }
  fmt::print("\nBus bandwidth is S/t · 2(T-1)/T, as nccl-tests define it.\n");
  return 0;
}

// Returns the calibration stored at `path`, or an empty one if there is none.
Hardware calibration_at(const std::string& path) {
  try {
    return read_hardware_file(path);
  } catch (const Error&) {
    return {};
  }
}

int bench_calibrate(const CommonOptions& options, int repetitions, const std::string& out) {
  const std::string path = out.empty() ? calibration_path() : out;
  if (path.empty())
    throw request_error(
        "no folder for the calibration is known: set XDG_DATA_HOME or HOME, or give --out FILE");
  const DType dtype = parse_dtype(options.dtype);
  make_folder(std::filesystem::path(path).parent_path());
  const OutputPlace place(path, hardware_output(path));
  const Hardware hardware =
      with_other_dtypes(calibrate(calibration_models(dtype), repetitions), calibration_at(path));
  write_hardware_file(hardware, path);
  std::vector<CalibrationCheck> checks;
  for (const int tp : degrees_with_cores()) {
    Settings layer = to_settings(options);
    layer.block = Block::Layer;
    layer.heads_policy = HeadsPolicy::Uneven;  // T is a number of cores
    layer.tp = tp;
    checks.push_back(check_calibration(layer, hardware, repetitions));
  }
  if (options.json) {
    ordered_json rows = ordered_json::array();
    for (const CalibrationCheck& check : checks) {
      ordered_json steps = ordered_json::array();
      for (const StepTimes& both : check.times.steps)
        steps.push_back(
            {{"predicted_seconds", both.predicted_seconds}, {"measured_seconds", both.measured_seconds}});
      rows.push_back({{"tp", check.settings.tp},
                      {"predicted_seconds", check.times.predicted_seconds},
                      {"measured_seconds", check.times.measured_seconds},
                      {"median_seconds", check.median_seconds},
                      {"error", check.times.error()},
                      {"steps", steps}});
    }
    fmt::print("{}\n", json_text(ordered_json{
                           {"file", path}, {"hardware", hardware_to_json(hardware)}, {"checks", rows}}));
    return 0;
  }
  fmt::print("{}\n\n", hardware.basis);
  fmt::print("GEMM ceiling    {:>8.1f} GFLOP/s a rank, {} at once (1024³, {})\n", hardware.flops(dtype) / 1e9,
             hardware.ranks_per_node, options.dtype);
  fmt::print("memory          {:>8.1f} GB/s a rank, {} reading and writing at once\n",
             hardware.memory_bytes_per_second / 1e9, hardware.ranks_per_node);
  for (const auto& [key, link] : hardware.links)
    fmt::print("{:<15} {:>8.2f} µs a hop, {:.1f} GB/s sent by each of {} ranks\n", key.first,
               link.latency_seconds * 1e6, link.bytes_per_second / 1e9, key.second);
  Table table({{"kind of step"},
               {"ranks", Table::Holds::Number},
               {"slowest", Table::Holds::Number},
               {"fastest", Table::Holds::Number}});
  for (const auto& [key, points] : hardware.rates) {
    if (key.dtype != dtype) continue;
    const auto [low, high] = std::minmax_element(
        points.begin(), points.end(),
        [](const RatePoint& a, const RatePoint& b) { return a.per_second < b.per_second; });
    table.add({key.op, std::to_string(key.ranks), fmt::format("{:.2f} G", low->per_second / 1e9),
               fmt::format("{:.2f} G", high->per_second / 1e9)});
  }
  fmt::print("\n{}", table.text());
  fmt::print("in FLOP/s if the kind counts FLOPs, else in bytes per second; measured\n\n");
  for (const CalibrationCheck& check : checks) {
    fmt::print(
        "one layer of {}, batch {} × sequence {}, T = {}: predicted {:.2f} ms, measured {:.2f} ms (median "
        "{:.2f}), {:+.1f} %\n",
        check.settings.model.title, check.settings.batch, check.settings.seq, check.settings.tp,
        check.times.predicted_seconds * 1e3, check.times.measured_seconds * 1e3, check.median_seconds * 1e3,
        100 * check.times.error());
  }
  fmt::print("\nstored in {}\n", path);
  return 0;
}

}  // namespace

Verb add_bench(CLI::App& app) {
  auto options = std::make_shared<CommonOptions>();
  auto what = std::make_shared<std::string>();
  auto repetitions = std::make_shared<int>(9);
  app.add_option(
         "what", *what,
         "gemm, allreduce, step, generate, calibrate, scaling, overlap, fusion, speedup, record, trace, plan "
         "or timeline (the end of --help explains each)")
      ->required()
      ->check(one_of("benchmark", {"gemm", "allreduce", "step", "generate", "calibrate", "scaling", "overlap",
                                   "fusion", "speedup", "record", "trace", "plan", "timeline"}));
  app.add_option("--repetitions", *repetitions, "Timed repetitions; median and spread are printed")
      ->check(between(int64_t{1}, int64_t{1000}))
      ->capture_default_str();
  auto out = std::make_shared<std::string>();
  app.add_option(
      "--out", *out,
      "record, timeline: where the recordings are kept; without it they are deleted. scaling: a folder for "
      "tables (CSV) and charts (PNG) of how a training step's time grows with the model, T, sequence and "
      "batch, next to the cost model's times. calibrate: the file to store it in, for --hardware FILE.json; "
      "figures of other dtypes in the file stay. If left out, the file that this-machine is read from "
      "(shardlens/this-machine.json in $XDG_DATA_HOME or ~/.local/share)");
  auto budget = std::make_shared<double>(GrowthWish{}.budget_seconds);
  app.add_option(
         "--budget", *budget,
         "scaling --out: seconds it may take, calibration included. It leaves out sizes that would take "
         "longer, and lists them")
      ->check(between(1.0, 1e5))
      ->type_name("SECONDS")
      ->capture_default_str();
  auto timeline = std::make_shared<TimelineWish>();
  app.add_option("--events", timeline->events, "timeline: the recording has at least this many events")
      ->check(between(int64_t{1}, int64_t{1} << 40))
      ->capture_default_str();
  app.add_option("--file-mib", timeline->file_mib, "timeline: MiB of the file, filled up with pictures")
      ->check(between(int64_t{0}, int64_t{1 << 20}))
      ->capture_default_str();
  add_common(app, *options);
  add_run_options(app, *options, {Part::Delay});
  auto record = std::make_shared<RecordOptions>();
  add_record_options(app, *record);
  add_overwrite(app);
  app.footer(
      "\nWhat it measures\n"
      "  gemm        the layer's matrix products\n"
      "  allreduce   the communicator\n"
      "  step        a whole model's training step, or with --layer a layer's pass\n"
      "  generate    token after token\n"
      "  calibrate   this machine, so that plans are priced on it\n"
      "  scaling     the paper's points, the model's curve, and this machine's own\n"
      "  overlap     row-parallel products reduced whole, or in parts while the next part is computed\n"
      "  fusion      passes over the same elements as one step, or one by one\n"
      "  speedup     T ranks of one thread against T = 1 on one core\n"
      "  record      how much slower a run is when it is recorded\n"
      "  trace       how much slower a run is when it is traced\n"
      "  plan        how long it takes to price a trillion parameters, and a tournament\n"
      "  timeline    a long recording with random times, and how long its timeline takes to draw\n"
      "\nExamples\n  shardlens-cli bench step --model gpt2 --tp 2 --batch 4 --seq 256\n"
      "  shardlens-cli bench step --model gpt2 --layer --tp 2\n"
      "  shardlens-cli bench generate --tp 2\n"
      "  shardlens-cli bench allreduce --tp 2\n  shardlens-cli bench gemm --tp 2 --json\n"
      "  shardlens-cli bench calibrate\n  shardlens-cli bench scaling\n"
      "  shardlens-cli bench scaling --out growth --budget 600\n"
      "  shardlens-cli bench overlap --layer --tp 2\n  shardlens-cli bench fusion --tp 2\n"
      "  shardlens-cli bench speedup --tp 2\n"
      "  shardlens-cli bench timeline --tp 4 --events 1000000 --file-mib 1024\n");
  return [options, what, repetitions, out, budget, timeline, record, &app] {
    if (!options->delays.empty() && *what != "step" && *what != "record")
      throw request_error(
          fmt::format("bench {} cannot delay ranks; leave out --delay, or choose bench step", *what));
    if (*what == "record") {
      refuse_without_effect(app, {"--record-limit"}, "bench record keeps everything that it records");
    } else if (record->path.empty()) {
      refuse_without_effect(
          app, {"--record-limit", "--record-pictures", "--record-budget", "--record-picture-size"},
          "nothing is recorded without --record FILE.shardlens");
    }
    if (*what == "timeline") {
      timeline->out = *out;
      return print_timeline(to_settings(*options), *timeline, options->json);
    }
    if (*what != "step") refuse_recording(*record, "it goes with bench step");
    if (*what == "scaling" && !out->empty()) {
      if (app.get_option("--model")->count() > 0)
        throw request_error(
            "bench scaling --out runs its own models, from a million to a billion parameters: leave out "
            "--model, or leave out --out to measure one layer of that model");
      GrowthWish wish{*out, *budget};
      if (app.get_option("--repetitions")->count() > 0) wish.repetitions = *repetitions;
      return bench_growth(*options, wish);
    }
    if (*what == "scaling") return print_scaling(to_settings(*options), *repetitions, options->json);
    if (*what == "record") return bench_record(*options, *repetitions, *out, *record);
    if (*what == "trace") return bench_trace(*options, *repetitions);
    if (*what == "plan") return bench_plan(*repetitions, options->json);
    if (*what == "overlap") return print_overlap(to_settings(*options), *repetitions, options->json);
    if (*what == "fusion") return print_fusion(to_settings(*options), *repetitions, options->json);
    if (*what == "speedup") return print_speedup(to_settings(*options), *repetitions, options->json);
    if (*what == "calibrate") return bench_calibrate(*options, *repetitions, *out);
    if (*what == "gemm") return bench_gemm(*options, *repetitions);
    if (*what == "allreduce") return bench_allreduce(*options);
    if (*what == "generate") return bench_generate(*options, *repetitions);
    return bench_step(*options, *repetitions, *record);
  };
}

}  // namespace shardlens::cli
