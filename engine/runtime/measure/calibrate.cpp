// Runs the calibration models, and computes rates from their times.
#include "engine/runtime/measure/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <map>
#include <string_view>

#include "engine/comm/allreduce_bench.h"
#include "engine/config/hardware_file.h"
#include "engine/config/splits.h"
#include "engine/device/device.h"
#include "engine/device/gemm_bench.h"
#include "engine/planner/planner.h"
#include "engine/runtime/plan.h"

namespace shardlens {
namespace {

constexpr double kCounted = 0.25;  // of the repetitions of a step, the lower quartile counts
constexpr int64_t kCeilingSize = 1024;

double quartile(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(kCounted * static_cast<double>(values.size() - 1) + 0.5)];
}

// Runs a plan and returns the time of each step, [rank][step]; for a collective, from when all ranks were
// there.
std::vector<std::vector<double>> step_seconds(const std::shared_ptr<const Plan>& plan, int repetitions,
                                              const std::function<void()>& tell) {
  const size_t steps = plan->program.steps.size();
  const auto ranks = static_cast<size_t>(plan->program.ranks());
  std::vector<std::vector<std::vector<double>>> all(ranks, std::vector<std::vector<double>>(steps));
  Executor executor(plan);
  for (int repetition = -1; repetition < repetitions; ++repetition) {  // the first one warms up
    tell();
    executor.next_pass();
    executor.start(executor.steps());
    executor.wait();
    for (size_t rank = 0; rank < ranks && repetition >= 0; ++rank) {
      for (size_t step = 0; step < steps; ++step) {
        const StepEvent& event = executor.trace(static_cast<int>(rank)).event(step);
        all[rank][step].push_back(event.seconds() - event.wait_seconds());
      }
    }
  }
  std::vector<std::vector<double>> seconds(ranks, std::vector<double>(steps));
  for (size_t rank = 0; rank < ranks; ++rank)
    std::transform(all[rank].begin(), all[rank].end(), seconds[rank].begin(), quartile);
  return seconds;
}

// Steps whose amounts of work differ by less than a factor of the square root of two share a point.
struct Bin {
  double work = 0, seconds = 0;
  int steps = 0;
};
using Bins = std::map<RateKey, std::map<int, Bin>>;

void add(const RateKey& key, double work, double seconds, Bins& bins) {
  Bin& bin = bins[key][static_cast<int>(std::floor(2 * std::log2(work)))];
  bin.work += work;
  bin.seconds += seconds;
  ++bin.steps;
}

using Products = std::map<RateKey, std::vector<ProductTime>>;

void add_rates(const Products& products, Hardware& hardware, Bins& bins) {
  constexpr double kLeastOfFlops = 0.5;  // of a product's time
  for (const auto& [key, times] : products) {
    const double rate = operand_rate(times);
    double bytes = 0;
    for (const ProductTime& time : times) {
      bytes += time.bytes;
      const double left = rate > 0 ? time.seconds - time.bytes / rate : time.seconds;
      add(key, time.flops, std::max(left, kLeastOfFlops * time.seconds), bins);
    }
    if (rate > 0)
      hardware.rates[{operands_of(key.op), key.dtype, key.ranks}] = {
          {bytes / static_cast<double>(times.size()), rate}};
  }
}

void add_rates(const Plan& plan, const std::vector<std::vector<double>>& seconds, Products& products,
               Bins& bins) {
  for (const Step& step : plan.program.steps) {
    if (is_collective(step.op)) continue;
    for (size_t rank = 0; rank < seconds.size(); ++rank) {
      const StepCost& cost = plan.cost[rank][static_cast<size_t>(step.id)];
      const RateKey key{to_string(step.op), plan.program.settings.dtype, plan.program.ranks()};
      const double taken = seconds[rank][static_cast<size_t>(step.id)];
      const auto flops = static_cast<double>(cost.flops), bytes = static_cast<double>(cost.touched_bytes);
      if (flops > 0) {
        products[key].push_back({flops, bytes, taken});
      } else if (bytes > 0) {
        add(key, bytes, taken, bins);
      }
    }
  }
}

// The times of collectives inside a model: for each kind, by the bytes of the tensor.
using Transfers = std::map<Collective, std::map<int64_t, std::vector<double>>>;

void add_transfers(const Plan& plan, const std::vector<std::vector<double>>& seconds, Transfers& transfers) {
  const Program& program = plan.program;
  for (const Step& step : program.steps) {
    if (!is_collective(step.op) || step.axis != Axis::Tp) continue;
    int64_t bytes = 0;
    for (const TensorId id : step.outputs) bytes += program.tensor(id).bytes();
    double slowest = 0;
    for (const std::vector<double>& rank : seconds)
      slowest = std::max(slowest, rank[static_cast<size_t>(step.id)]);
    transfers[collective_of(step.op)][bytes].push_back(slowest);
  }
}

// Fits alpha and beta of every collective: of those in the models from their runs, of the all-to-all, which
// no model uses, by itself.
void fit_links(int ranks, DType dtype, int rounds, const Transfers& transfers, Hardware& hardware) {
  for (const Collective collective :
       {Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather, Collective::AllToAll}) {
    std::vector<AllReducePoint> points;
    if (const auto found = transfers.find(collective); found != transfers.end()) {
      for (auto [bytes, seconds] : found->second) {
        const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
        std::nth_element(seconds.begin(), middle, seconds.end());
        points.push_back({.ranks = ranks, .bytes = bytes, .best_seconds = *middle});
      }
    }
    if (points.size() < 2) {
      AllReduceBench bench;
      bench.collective = collective;
      bench.ranks = {ranks};
      bench.dtype = dtype == DType::Fp64 ? DType::Fp64 : DType::Fp32;
      bench.rounds = rounds;
      points = bench_all_reduce(bench);
    }
    const LinkRate fitted = fit_alpha_beta(collective, points);
    hardware.links[{to_string(collective), ranks}] = fitted;
    if (collective != Collective::AllReduce) continue;
    hardware.link_latency_seconds = fitted.latency_seconds;
    hardware.link_bytes_per_second = fitted.bytes_per_second;
  }
}

double passed_bytes_per_second(int ranks) {
  AllReduceBench bench;
  bench.ranks = {ranks};
  bench.sizes_bytes = {int64_t{64} << 20};
  bench.rounds = 5;
  const AllReducePoint point = bench_all_reduce(bench).front();
  return 2 * static_cast<double>(point.bytes) / point.pass_best_seconds;  // read and written
}

std::string today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

// Returns "measured by bench calibrate on a processor, 4 cores" of the basis that calibrate() writes.
std::string measured_where(const std::string& basis) {
  return basis.substr(0, basis.rfind(", ", basis.rfind(", ") - 1));  // without dtype and day
}

double& flops_of(Hardware& hardware, DType dtype) {
  switch (dtype) {
    case DType::Fp64:
      return hardware.fp64_flops;
    case DType::Fp16:
      return hardware.fp16_flops;
    case DType::Bf16:
      return hardware.bf16_flops;
    default:
      return hardware.fp32_flops;
  }
}

std::string flops_figure(DType dtype) {
  return to_string(dtype) + "_flops";
}

}  // namespace

double operand_rate(const std::vector<ProductTime>& times) {
  double ff = 0, fb = 0, bb = 0, f = 0, b = 0;
  for (const ProductTime& time : times) {
    if (time.seconds <= 0) continue;
    const double flops = time.flops / time.seconds, bytes = time.bytes / time.seconds;
    ff += flops * flops;
    fb += flops * bytes;
    bb += bytes * bytes;
    f += flops;
    b += bytes;
  }
  const double determinant = ff * bb - fb * fb;
  if (determinant <= 1e-9 * ff * bb) return 0;  // all have the same ratio of FLOPs to bytes
  const double seconds_a_byte = (b * ff - f * fb) / determinant;
  return seconds_a_byte > 0 ? 1 / seconds_a_byte : 0;
}

std::vector<int> degrees_with_cores() {
  std::vector<int> degrees;
  for (int tp = 1; tp < available_cores(); tp *= 2) degrees.push_back(tp);
  degrees.push_back(available_cores());
  return degrees;
}

std::vector<Settings> calibration_models(DType dtype) {
  struct Sizes {
    int64_t hidden, heads, batch, seq;
  };
  std::vector<Settings> models;
  for (const Sizes& sizes : {Sizes{192, 4, 2, 96}, Sizes{448, 7, 4, 192}, Sizes{960, 15, 3, 320},
                             Sizes{704, 11, 1, 40}, Sizes{1216, 19, 1, 72}}) {
    Settings settings;
    settings.block = Block::Model;
    settings.model.name = "calibration";
    settings.model.title = fmt::format("a GPT of hidden {}", sizes.hidden);
    settings.model.layers = 2;
    settings.model.hidden = sizes.hidden;
    settings.model.heads = sizes.heads;
    settings.model.ffn = 4 * sizes.hidden;
    settings.model.vocab = 4000;
    settings.model.positions = sizes.seq;
    settings.dtype = dtype;
    settings.heads_policy = HeadsPolicy::Uneven;  // T is a number of cores
    settings.batch = sizes.batch;
    settings.seq = sizes.seq;
    settings.update = true;
    models.push_back(settings);
  }
  return models;
}

Hardware calibrate(const std::vector<Settings>& models, int repetitions, const Measuring& measuring) {
  const int cores = available_cores();
  const DType dtype = models.front().dtype;
  Hardware hardware = find_hardware(kThisMachine);
  hardware.basis = fmt::format("measured by bench calibrate on {}, {}, {}", machine_description(),
                               to_string(dtype), today());
  hardware.ranks_per_node = cores;
  hardware.rates.clear();
  hardware.links.clear();
  hardware.fp16_flops = hardware.bf16_flops = hardware.fp32_flops = hardware.fp64_flops = 0;
  Bins bins;
  Products products;
  const std::vector<int> degrees = degrees_with_cores();
  // For every T, the models as Megatron cuts them, and, to measure more collectives, with the stream cut too.
  size_t runs = 0, done = 0;
  for (const int tp : degrees) runs += models.size() * (tp > 1 ? 2 : 1);
  for (const int tp : degrees) {
    Transfers transfers;
    for (const char* split : {"megatron", "megatron-sp"}) {
      const bool is_first = split == std::string_view("megatron");
      for (Settings settings : models) {
        if (tp == 1 && !is_first) continue;
        settings.tp = tp;
        if (!is_first) settings.split = named_split(split);
        const std::string doing =
            fmt::format("T = {}, {}{}", tp, settings.model.title, is_first ? "" : ", its stream cut too");
        const double share = static_cast<double>(done++) / static_cast<double>(runs);
        // An overlapped step shares its core with another step, so neither time can be used.
        Program program = plan_program(settings);
        for (Step& step : program.steps) step.beside = false;
        const std::shared_ptr<const Plan> plan = make_plan(std::move(program));
        check_runnable(*plan);
        const auto seconds = step_seconds(plan, repetitions, [&] { measuring.tell(doing, share); });
        if (is_first) add_rates(*plan, seconds, products, bins);
        add_transfers(*plan, seconds, transfers);
      }
    }
    if (tp > 1) fit_links(tp, dtype, 2 * repetitions, transfers, hardware);
  }
  measuring.tell("products of 1024³ on every core, and copies", 1);
  add_rates(products, hardware, bins);
  for (const auto& [key, by_work] : bins) {
    for (const auto& [half_octave, bin] : by_work)
      hardware.rates[key].push_back({bin.work / bin.steps, bin.work / bin.seconds});
  }
  const GemmCeiling ceiling = measure_gemm_ceiling(
      dtype, {{false, false, kCeilingSize, kCeilingSize, kCeilingSize}}, cores, 1, repetitions);
  flops_of(hardware, dtype) = ceiling.best().median_flops / cores;
  hardware.memory_bytes_per_second = passed_bytes_per_second(cores);
  const std::string when = "bench calibrate, " + today();
  hardware.sources = {{"memory_bytes", "the operating system"},
                      {"ranks_per_node", "the operating system: cores"},
                      {flops_figure(dtype), when + ": a product of 1024³ on every core at once"},
                      {"memory_bytes_per_second", when + ": every core copies 64 MiB, read and written"},
                      {"rates", when + ": each kind of step in small models, all ranks at once"}};
  if (!hardware.links.empty()) {
    hardware.sources.emplace_back(
        "links", when +
                     ": least squares over what the collectives inside those models took once all ranks "
                     "were there; an all-to-all by itself, over 4 KiB to 16 MiB");
    hardware.sources.emplace_back("link_latency_seconds", "links: the all-reduce over all cores");
    hardware.sources.emplace_back("link_bytes_per_second", "links: the all-reduce over all cores");
  }
  return hardware;
}

Hardware with_other_dtypes(Hardware measured, const Hardware& before) {
  if (!before.basis.starts_with(measured_where(measured.basis) + ",")) return measured;
  std::vector<std::string> kept;
  for (const DType dtype : {DType::Fp32, DType::Fp64, DType::Bf16, DType::Fp16}) {
    if (measured.flops(dtype) > 0 || before.flops(dtype) <= 0) continue;
    flops_of(measured, dtype) = before.flops(dtype);
    for (const auto& [key, points] : before.rates)
      if (key.dtype == dtype) measured.rates[key] = points;
    for (const auto& source : before.sources)
      if (source.first == flops_figure(dtype)) measured.sources.push_back(source);
    kept.push_back(to_string(dtype));
  }
  if (!kept.empty()) measured.basis += fmt::format("; {} before", fmt::join(kept, ", "));
  return measured;
}

CalibrationCheck check_calibration(const Settings& settings, const Hardware& hardware, int repetitions) {
  Plan priced = *make_plan(plan_program(settings));
  for (int rank = 0; rank < priced.program.ranks(); ++rank)
    priced.cost[static_cast<size_t>(rank)] = price(priced.program, hardware, rank);
  const auto plan = std::make_shared<const Plan>(std::move(priced));
  check_runnable(*plan);
  Executor executor(plan);
  CalibrationCheck check{settings, {}, 0};
  std::vector<double> seconds;
  for (int repetition = -1; repetition < repetitions; ++repetition) {
    executor.next_pass();
    executor.start(executor.steps());
    executor.wait();
    if (repetition < 0) continue;
    std::vector<std::vector<StepEvent>> events;
    for (int rank = 0; rank < plan->program.ranks(); ++rank) events.push_back(executor.trace(rank).events());
    const TimeComparison times = compare_times(*plan, events);
    if (seconds.empty() || times.measured_seconds < check.times.measured_seconds) check.times = times;
    seconds.push_back(times.measured_seconds);
  }
  std::sort(seconds.begin(), seconds.end());
  check.median_seconds = seconds[seconds.size() / 2];
  check.times.predicted_on = fmt::format("{}: {}", hardware.title, hardware.basis);
  return check;
}

}  // namespace shardlens
