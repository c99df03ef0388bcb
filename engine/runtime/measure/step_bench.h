// How fast a planned layer or whole model runs, against the GEMM ceiling of its own shapes: both measured in
// turn in one run, so that a noisy machine disturbs both.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/runtime/recordings/recorder.h"
#include "engine/runtime/step_times.h"

namespace shardlens {

/// One kind of step's share of a run. What goes on beside the others is a kind of its own: its time comes to
/// no more of the run than the steps wait for it.
struct OpTime {
  Op op = Op::Linear;
  bool beside = false;
  double seconds = 0;  ///< of rank 0, all its steps of this kind, waiting included
};

/// A rank's time in the pass it ran last by kind of step, longest first.
std::vector<OpTime> time_by_op(const RankTrace& trace, const Program& program);

double median_of(std::vector<double> values);

struct StepBench {
  double median_seconds = 0;
  double lowest_seconds = 0;
  double highest_seconds = 0;
  double collective_seconds = 0;  ///< of the median run: the slowest rank's in collectives, waiting included;
                                  ///< of those beside the steps what these wait for them
  int64_t flops = 0;              ///< model_flops() of the plan
  double ceiling_flops = 0;  ///< FLOP/s, all cores: of the product whose median over the rounds is highest
  std::vector<OpTime> op_times;  ///< of the fastest run, longest first
  /// What rank 0's AdamW read and wrote in the fastest run, which does little else: how fast memory was for
  /// it. 0 where nothing is updated.
  double adamw_bytes_per_second = 0;
  std::vector<int64_t> planned_bytes;     ///< per rank
  std::vector<int64_t> high_water_bytes;  ///< per rank, measured
  /// Of this process, its ranks and all they use, over what was resident before they began; 0 where the
  /// system does not say.
  int64_t start_resident_bytes = 0;  ///< the most until the step that warms up was done
  int64_t step_resident_bytes = 0;   ///< the most during the first step timed
  int64_t planned_here_bytes = 0;    ///< of all ranks that live in this process
  TimeComparison times;              ///< of the fastest run
  std::vector<Lateness> late;        ///< what late ranks cost in it
  double of_ceiling = 0;  ///< median over the rounds of this round's speed over this round's ceiling
  double lowest_of_ceiling = 0, highest_of_ceiling = 0;  ///< of the rounds

  /// Of a step: resident over planned.
  double resident_of_plan() const {
    return static_cast<double>(step_resident_bytes) / static_cast<double>(planned_here_bytes);
  }
  double flops_per_second() const { return static_cast<double>(flops) / median_seconds; }
};

/// Runs the plan once to warm up, then `repetitions` times, each followed by a measurement of the ceiling
/// with as many threads as cores. Every pass goes into what `recorder`, called once, gives for the executor
/// that runs; pictures are taken of the pass that warms up alone, so that the times stay what they are.
/// Throws what check_runnable() and the run throw.
StepBench bench_step(const std::shared_ptr<const Plan>& plan, int repetitions,
                     const std::function<Recorder*(const Executor&)>& recorder = {});

}  // namespace shardlens
