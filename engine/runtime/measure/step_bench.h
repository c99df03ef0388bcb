// Measures how fast a planned layer or whole model runs, compared with the GEMM ceiling of its own shapes.
// Both are measured in turn in one run, so that noise on the machine disturbs both alike; on GPUs first the
// one and then the other, because the products of the ceiling heat a card.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/base/rate.h"
#include "engine/runtime/recordings/recorder.h"
#include "engine/runtime/step_times.h"

namespace shardlens {

/// The share of one kind of step in a run. Overlapped steps are a kind of their own: only the time that other
/// steps wait for them adds to the run.
struct OpTime {
  Op op = Op::Linear;
  bool overlapped = false;
  double seconds = 0;  ///< of rank 0, all its steps of this kind, waiting included
};

/// A rank's time in its last pass by kind of step, longest first.
std::vector<OpTime> time_by_op(const RankTrace& trace, const Program& program);

double median_of(std::vector<double> values);

struct StepBench {
  double median_seconds = 0;
  double lowest_seconds = 0;
  double highest_seconds = 0;
  double collective_seconds = 0;  ///< of the median run: the slowest rank's time in collectives, waiting
                                  ///< included; of overlapped ones only the time that other steps wait for
                                  ///< them
  int64_t flops = 0;              ///< model_flops() of the plan
  double ceiling_flops = 0;  ///< FLOP/s, all cores: of the product with the highest median over the rounds
  std::vector<OpTime> op_times;  ///< of the fastest run, longest first
  /// How fast rank 0's AdamW reads and writes memory in the fastest run; it does little else. 0 if nothing is
  /// updated.
  double adamw_bytes_per_second = 0;
  std::vector<int64_t> planned_bytes;     ///< per rank
  std::vector<int64_t> high_water_bytes;  ///< per rank, measured
  /// Resident memory of this process, with its ranks and all that they use, minus what was resident before
  /// they began; 0 if the system does not report it.
  int64_t start_resident_bytes = 0;  ///< the most until the warm-up step was done
  int64_t step_resident_bytes = 0;   ///< the most during the first timed step
  int64_t planned_here_bytes = 0;    ///< of all ranks that live in this process
  TimeComparison times;              ///< of the fastest run
  std::vector<Lateness> late;        ///< what late ranks cost in the fastest run
  double of_ceiling = 0;             ///< median over the rounds of the round's speed over the round's ceiling
  double lowest_of_ceiling = 0, highest_of_ceiling = 0;  ///< of the rounds

  /// In a step: resident over planned.
  double resident_of_plan() const {
    return static_cast<double>(step_resident_bytes) / static_cast<double>(planned_here_bytes);
  }
  double flops_per_second() const { return per_second(static_cast<double>(flops), median_seconds); }
};

/// Runs the plan once to warm up, then `repetitions` times. After each, or on GPUs after all, measures the
/// ceiling with as many threads as cores. Every pass is traced, and is recorded by the Recorder that
/// `recorder` returns; it is called once, with the executor that runs. Pictures are taken only of the warm-up
/// pass, so they do not change the times. Throws what check_runnable() and the run throw.
StepBench bench_step(const std::shared_ptr<const Plan>& plan, int repetitions,
                     const std::function<Recorder*(const Executor&)>& recorder = {});

}  // namespace shardlens
