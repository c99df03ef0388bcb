// Runs rounds of steps, for each way one recorded and one plain step.
#include "engine/runtime/measure/record_bench.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "engine/runtime/executor.h"
#include "engine/runtime/measure/step_bench.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/recordings/recorder.h"

namespace shardlens {
namespace {

using Taken = PictureOptions::Taken;

constexpr Taken kWays[] = {Taken::Off, Taken::UnderBudget, Taken::All};
constexpr size_t kWayCount = std::size(kWays);
constexpr int kMostWarmUps = 30;
constexpr double kLearningRate = 1e-4;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void wait_until_settled(const std::vector<std::unique_ptr<Recorder>>& recorders) {
  for (const auto& recorder : recorders)
    while (!recorder->is_settled()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

}  // namespace

std::vector<std::string> record_bench_paths(const std::string& path) {
  std::vector<std::string> paths;
  for (size_t way = 0; way < kWayCount; ++way) paths.push_back(path + "." + std::to_string(way));
  return paths;
}

RecordBench bench_record(const std::shared_ptr<const Plan>& plan, const std::string& path, int rounds,
                         const PictureOptions& pictures) {
  check_runnable(*plan);
  Executor executor(plan);
  const std::vector<std::string> paths = record_bench_paths(path);
  std::vector<std::unique_ptr<Recorder>> recorders;
  RecordBench bench;
  for (size_t way = 0; way < kWayCount; ++way) {
    PictureOptions options = pictures;
    options.taken = kWays[way];
    recorders.push_back(std::make_unique<Recorder>(paths[way], "bench", *plan, executor.communicator(),
                                                   RecordingLimits{}, options));
    bench.ways.emplace_back().pictures = to_string(options);
  }
  // Steps that learn, so no picture equals that of the step before, which would be stored only once.
  const bool learns = plan->program.settings.block == Block::Model;
  PassInputs inputs;
  if (learns) inputs.batch = std::make_shared<const Batch>(seeded_batch(plan->program.settings));
  inputs.numbers.learning_rate = kLearningRate;
  std::vector<double> takes[kWayCount];
  // Runs one step; records it unless `recorder` is null.
  const auto step = [&](size_t way, Recorder* recorder) {
    std::vector<std::shared_ptr<StepObserver>> observers;
    if (recorder != nullptr && recorder->pictures()) observers.push_back(recorder->pictures());
    executor.observe(observers);
    const auto begin = std::chrono::steady_clock::now();
    if (learns) {
      executor.next_pass(inputs);
      ++inputs.numbers.iteration;
    } else {
      executor.next_pass();
    }
    executor.start(executor.steps());
    executor.wait();
    if (recorder == nullptr) return seconds_since(begin);
    const auto done = std::chrono::steady_clock::now();
    recorder->take(executor);
    takes[way].push_back(seconds_since(done));
    return seconds_since(begin);
  };
  step(0, nullptr);
  for (size_t way = 0; way < kWayCount; ++way) {
    Recorder* const recorder = recorders[way].get();
    step(way, recorder);
    wait_until_settled(recorders);
    // Under a budget the first pass makes a debt: only passes after it is paid count.
    const int64_t first = recorder->totals().samples;
    for (int i = 0; i < kMostWarmUps && kWays[way] == Taken::UnderBudget; ++i) {
      step(way, recorder);
      wait_until_settled(recorders);
      if (recorder->totals().samples > first) break;
    }
  }
  std::vector<double> plain, seconds[kWayCount], ratios[kWayCount], samplings[kWayCount];
  int64_t bytes_before[kWayCount], samples_before[kWayCount];
  double worked_before[kWayCount];
  for (size_t way = 0; way < kWayCount; ++way) {
    bytes_before[way] = recorders[way]->file_bytes();
    samples_before[way] = recorders[way]->totals().samples;
    worked_before[way] = recorders[way]->writing_seconds();
  }
  // The second of two steps counts: the first one is written during it, and neither follows a pause, after
  // which a machine may be faster for a while.
  const auto counted_step = [&](size_t way, Recorder* recorder) {
    wait_until_settled(recorders);
    step(way, recorder);
    return step(way, recorder);
  };
  for (int round = 0; round < rounds; ++round)
    for (size_t way = 0; way < kWayCount; ++way) {
      Recorder* const recorder = recorders[way].get();
      double pair[2];  // plain, recorded; next to each other, because the machine's speed drifts
      for (int turn = 0; turn < 2; ++turn) {
        const bool recorded = (turn + round) % 2 == 1;
        pair[recorded] = counted_step(way, recorded ? recorder : nullptr);
        if (recorded) samplings[way].push_back(recorder->sampling_seconds());
      }
      plain.push_back(pair[0]);
      seconds[way].push_back(pair[1]);
      ratios[way].push_back(pair[1] / pair[0]);
    }
  bench.plain_seconds = median_of(plain);
  wait_until_settled(recorders);
  for (size_t way = 0; way < kWayCount; ++way) {
    RecordedWay& recorded = bench.ways[way];
    recorded.seconds = median_of(seconds[way]);
    recorded.ratio = median_of(ratios[way]);
    recorded.lowest_ratio = *std::min_element(ratios[way].begin(), ratios[way].end());
    recorded.highest_ratio = *std::max_element(ratios[way].begin(), ratios[way].end());
    recorded.take_seconds = median_of(takes[way]);
    recorded.sampling_seconds = median_of(samplings[way]);
    const RecordingTotals totals = recorders[way]->totals();
    if (totals.passes > 0) recorded.events = totals.events / totals.passes;
    const double steps = 2.0 * rounds;
    recorded.writing_seconds = (recorders[way]->writing_seconds() - worked_before[way]) / steps;
    recorded.samples = static_cast<double>(totals.samples - samples_before[way]) / steps;
    recorded.file_bytes = static_cast<double>(recorders[way]->file_bytes() - bytes_before[way]) / steps;
  }
  return bench;
}

}  // namespace shardlens
