// Compares splits of one model: each is planned and priced, and then really run here. So its stages, its
// bytes and its time can be shown next to another split's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/runtime/measure/measured_run.h"

namespace shardlens {

struct SplitTrial {
  Split split;
  std::string refused;               ///< why it cannot be planned, or cannot run here; else empty
  std::shared_ptr<const Plan> plan;  ///< null if it cannot be planned
  int forward_collectives = 0;       ///< in the whole pass, like all fields that follow
  int backward_collectives = 0;      ///< with those of the optimizer
  int64_t sent_bytes = 0;            ///< by each rank
  int64_t flops = 0;                 ///< of rank 0, attention counted whole
  int64_t planned_bytes = 0;         ///< all memory of the rank that has the most
  double predicted_seconds = 0;      ///< estimated; 0: the preset does not state its speed
  std::shared_ptr<const Result>
      result;  ///< null until it ran: samples of the first pass, times of the fastest
  int64_t measured_bytes = 0;
  std::vector<double> round_seconds;  ///< a step in each round, in their order
  double measured_seconds = 0;        ///< their median
};

struct SplitTrials {
  Settings settings;  ///< the split in it does not matter
  std::string predicted_on;
  std::string measured_on;
  std::vector<SplitTrial> trials;

  bool measured() const;  ///< true if all that can be run were run
};

SplitTrials plan_trials(const Settings& settings, const std::vector<Split>& splits);

/// Runs a round of a trial that was planned; the first round also takes its samples. Trials are compared by
/// running a round of each in turn (rounds.h). Throws a Cancelled Error if the wish is stopped.
/// `trial` must outlive the Job.
Job<> run_trial(SplitTrial& trial, RunWish wish);
/// Forgets the rounds of earlier measurements; the next round replaces the result.
void begin_rounds(SplitTrial& trial);

}  // namespace shardlens
