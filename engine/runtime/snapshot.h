// What the studio may show, as immutable data. The Session makes a new Snapshot whenever something has
// changed; panels read the newest one and never call the engine. What the user wants goes back as a Command.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/clock_step.h"
#include "engine/comm/comm.h"
#include "engine/cost/compare_recompute.h"
#include "engine/cost/compare_splits.h"
#include "engine/cost/price.h"
#include "engine/planner/delays.h"
#include "engine/planner/memory_plan.h"
#include "engine/program/program.h"
#include "engine/record/recording_state.h"
#include "engine/record/tensor_parity.h"
#include "engine/record/trace.h"
#include "engine/runtime/coverage.h"
#include "engine/runtime/lateness.h"
#include "engine/runtime/run_failure.h"
#include "engine/runtime/tensor_window.h"

namespace shardlens {

/// A Program and everything that can be computed of it without running it.
struct Plan {
  Program program;
  std::vector<MemoryPlan> memory;           ///< per rank
  std::vector<std::vector<StepCost>> cost;  ///< [rank][step], estimated on settings.hardware
  std::vector<PlannedDelay> delays;         ///< delays on purpose
  std::vector<SplitCost> splits;  ///< the same settings cut in every named way; empty for a serial plan
  double plan_seconds = 0;        ///< how long planning took, measured
};

/// What was compared and the worst tensor of a run, for the chip in the Bar.
struct ParitySummary {
  bool known = false;
  bool agrees = false;
  double worst_relative_error = 0;
  TensorId worst_tensor = kNoTensor;
  TensorId first_broken = kNoTensor;  ///< in step order; kNoTensor when all agree
  Coverage coverage;
};

/// One form of the loss of a whole model.
struct LossFigures {
  int64_t sent_bytes = 0;  ///< planned: each rank sends these for the loss itself, forward
  int64_t peak_bytes = 0;  ///< planned: of the rank with the most bytes, over the whole step
  bool measured = false;   ///< the fields below were measured
  double loss = 0;
  double loss_seconds = 0;  ///< logits, loss and their gradients, slowest rank
  double step_seconds = 0;  ///< the whole pass
  int64_t high_water_bytes = 0;
};

/// The loss fused and gathered, with the settings of a plan and with the paper's vocabulary.
struct LossLens {
  Settings settings;
  LossFigures fused, gathered;
  Settings paper;
  std::string note;                                         ///< why they were not run
  int64_t paper_fused_bytes = 0, paper_gathered_bytes = 0;  ///< each rank sends, planned
};

struct TimeComparison;  // engine/runtime/step_times.h

/// What a run of a Plan produced so far. Immutable once it is in a Snapshot.
struct Result {
  std::shared_ptr<const Plan> plan;
  CommunicatorInfo communicator;
  std::string machine;  ///< "AMD EPYC, 2 cores"
  std::string provenance = "measured";
  bool replayed = false;  ///< read from a recording: none of its figures was measured in this process
  bool live = false;      ///< replayed, of a run that still goes on and is followed here
  /// Of the clock behind the events, in seconds: a shorter time was not measured. In a replay, the
  /// recording's.
  double clock_step = clock_step_seconds();
  bool timed = false;     ///< events are those of a whole, unsampled run
  std::string not_timed;  ///< why a recorded pass has no events though it ran to its end; empty: it has
  std::shared_ptr<const TimeComparison> times;  ///< the events beside the plan's prices; null until timed
  std::vector<std::vector<StepEvent>> events;   ///< [rank][step], measured; may be short
  SampleTable samples;                          ///< [rank][tensor]; null: not yet
  /// [tensor], for a recording: the pass in which its samples were taken; -1: there are none. Empty for a
  /// run.
  std::vector<int64_t> sampled_in;
  ParityTable parity;  ///< [tensor]; null: not compared
  ParitySummary parity_summary;
  std::string not_compared;  ///< why there is no comparison with T = 1; empty when there is or will be one
  std::string not_exact;     ///< how many tensors have exact values, and why not all; empty: all
  std::vector<BytesByKind> high_water_bytes;  ///< [rank], measured
  std::vector<Lateness> late;                 ///< what each rank's delay cost, measured
  double forward_seconds = 0;                 ///< slowest rank, measured; 0 until timed
  double backward_seconds = 0;
  double flops_per_second = 0;    ///< of the ranks in `events` together; 0 until timed
  double gemm_ceiling_flops = 0;  ///< FLOP/s of all cores together, measured in this process; 0: not yet

  /// The word that stands beside every figure of the run.
  const char* how() const { return live ? "live" : replayed ? "replayed" : "measured"; }
};

enum class RunState { Planning, Running, Paused, Done, Refused, Failed, Cancelled };
std::string to_string(RunState state);

struct Snapshot {
  uint64_t version = 0;
  Settings settings;                     ///< what is wanted now
  std::shared_ptr<const Plan> plan;      ///< of `settings`; null when they cannot be planned
  std::shared_ptr<const Result> result;  ///< newest run; may belong to an older plan, see stale()
  RunState state = RunState::Planning;
  size_t position = 0;                ///< steps executed: the engine waits before step `position`
  std::string message;                ///< why Refused, Failed or Cancelled; names the remedy
  std::vector<Settings> fitting;      ///< Refused for want of memory or time: the nearest settings that fit
  bool waits_for_run = false;         ///< Refused because it is long: command::Run runs it all the same
  std::optional<RunFailure> failure;  ///< Failed: which ranks and which step of `plan`, if known
  std::shared_ptr<const LossLens> lens;  ///< of `plan`; null unless the vocabulary of a whole model is cut
  /// What each way of recomputing keeps, for `settings`; null until asked for.
  std::shared_ptr<const std::array<RecomputeCost, 3>> recompute;
  std::string activity;                         ///< "timing the run", "comparing with T = 1"; empty when idle
  RecordingState recording;                     ///< of this Session's runs
  bool reads_windows = false;                   ///< true for a Session's own run: it answers ReadWindows
  std::shared_ptr<const WindowAnswer> windows;  ///< to the last ReadWindows of `plan`; null: none yet

  /// The plan is valid, but this machine cannot run it: `message` gives the reason.
  bool only_planned() const { return plan && state == RunState::Refused; }
  /// The result shown does not belong to the wanted settings.
  bool stale() const { return result && result->plan != plan; }
};

namespace command {
struct SetSettings {
  Settings settings;
};                         ///< replan at once, run in the background
struct Run {};             ///< run to the end (from the start when already there)
struct StepOnce {};        ///< execute one more step
struct NextCollective {};  ///< execute up to and including the next collective
struct Seek {
  size_t position = 0;
};                        ///< go to the position after the first `position` steps, also backwards
struct CompareLosses {};  ///< run the loss fused and gathered, and measure both
struct PlanRecompute {};  ///< plan what each way of recomputing keeps
/// Records every whole run from now on into files in `folder`, with names of its own. An empty folder ends
/// the recording after a whole run has been compared, or at once if it comes a second time.
struct Record {
  std::string folder;
};
/// Reads these windows of `plan` on every rank and in the serial run, when nothing else runs: from what the
/// samples kept, else in another pass. A newer question replaces an older one. Ignored for another plan.
struct ReadWindows {
  std::shared_ptr<const Plan> plan;
  std::vector<TensorWindow> windows;
};
struct Pause {};   ///< stop at the next step boundary
struct Cancel {};  ///< give the run up
}  // namespace command

using Command = std::variant<command::SetSettings, command::Run, command::StepOnce, command::NextCollective,
                             command::Seek, command::CompareLosses, command::PlanRecompute, command::Record,
                             command::ReadWindows, command::Pause, command::Cancel>;

}  // namespace shardlens
