// Pairs of steps, the first of a pair changing from round to round.
#include "engine/runtime/record_bench.h"

#include <chrono>
#include <filesystem>

#include "engine/runtime/executor.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/recorder.h"
#include "engine/runtime/step_bench.h"

namespace shardlens {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

RecordBench bench_record(const std::shared_ptr<const Plan>& plan, const std::string& path, int rounds) {
  check_runnable(*plan);
  Executor executor(plan);
  Recorder recorder(path, "bench", *plan, executor.communicator());
  RecordBench bench;
  std::vector<double> takes;
  const auto step = [&](bool recorded) {
    const auto begin = std::chrono::steady_clock::now();
    executor.next_pass();
    executor.start(executor.steps());
    executor.wait();
    const auto done = std::chrono::steady_clock::now();
    if (recorded) recorder.take(executor);
    if (recorded) takes.push_back(seconds_since(done));
    return seconds_since(begin);
  };
  step(false);
  step(true);
  std::vector<double> plain, recorded, ratios;
  for (int round = 0; round < rounds; ++round) {
    const bool first = round % 2 == 0;
    double seconds[2];
    seconds[first] = step(first);
    seconds[!first] = step(!first);
    plain.push_back(seconds[0]);
    recorded.push_back(seconds[1]);
    ratios.push_back(seconds[1] / seconds[0]);
  }
  const RecordingTotals totals = recorder.finish();
  bench.plain_seconds = median_of(plain);
  bench.recorded_seconds = median_of(recorded);
  bench.ratio = median_of(ratios);
  bench.take_seconds = median_of(takes);
  if (totals.passes > 0) {
    bench.events = totals.events / totals.passes;
    bench.file_bytes = static_cast<int64_t>(std::filesystem::file_size(path)) / totals.passes;
  }
  return bench;
}

}  // namespace shardlens
