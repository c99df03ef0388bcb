// What a planted fault did, as data: two runs of one model side by side, one of them broken on purpose, and
// at some of their steps every tensor of the broken one against the same pass without the fault.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/program/fault.h"
#include "engine/runtime/snapshot.h"

namespace shardlens {

/// A tensor of the broken Program against what it should be.
struct TensorError {
  TensorId tensor = kNoTensor;
  StepId step = -1;           ///< that wrote it; -1: there before the pass, a weight
  double relative_error = 0;  ///< |broken - sound| / |sound|; of a Replicated one the worst rank's
  bool ranks_identical = true;
  bool broken = false;  ///< beyond the bound of its dtype, or its ranks differ
};

/// One pass looked into. The sound Program ran it first, from the broken run's own weights and moments and on
/// the same batch: what differs is what the fault does in this very pass, not what it did before.
struct BreakProbe {
  int64_t step = 0;                 ///< of training, from 1; 0: one pass, nothing is trained
  std::vector<TensorError> errors;  ///< in step order, weights first
  int first = -1;                   ///< index of the first broken one; -1: none is

  bool finds() const { return first >= 0; }
  const TensorError& first_error() const { return errors[static_cast<size_t>(first)]; }
};

/// How many tensors of a phase a probe saw, and how wrong they were.
struct Spread {
  int compared = 0, broken = 0;
  double worst = 0;
};
Spread spread(const Program& program, const BreakProbe& probe, Phase phase);

/// One training step of both runs.
struct BreakStep {
  double sound_loss = 0, broken_loss = 0;  ///< nats a token; of the broken run as rank 0 has it
  double sound_norm = 0, broken_norm = 0;  ///< of the gradients, before clipping
};

struct BreakReport {
  Fault fault = Fault::SkipF;
  std::shared_ptr<const Plan> plan;  ///< the broken Program's
  double bound = 0;                  ///< of a relative error; beyond it a tensor is broken
  int64_t wanted_steps = 0;          ///< of training; 0: one pass alone
  std::vector<BreakStep> steps;
  std::vector<std::shared_ptr<const BreakProbe>> probes;
  std::string ended;  ///< why the broken run stopped early; empty: it did not
  std::string text;   ///< what was learnt from

  bool done() const;
};

/// What a person may look at to see that something is wrong.
enum class Check {
  Activations,  ///< every weight and activation of the pass against a right run
  Gradients,    ///< every gradient against a right run
  Replicas,     ///< what all ranks should hold alike, rank against rank: needs no right run
  ClipNorm,     ///< the gradients' global norm against a right run
  Loss,         ///< the loss curve alone
};
std::string to_string(Check check);  ///< "gradients against a right run"

/// What one check saw in the whole report.
struct Finding {
  Check check = Check::Activations;
  bool sees = false;
  int64_t step = 0;             ///< where first, as BreakProbe::step
  TensorId tensor = kNoTensor;  ///< the first that is wrong; none for the loss
  double error = 0;             ///< its relative error
};

/// How far the loss curves are apart at the end, against how far the sound one moves from one step to the
/// next: who has only the broken curve sees no more than that.
struct LossVerdict {
  int64_t steps = 0;  ///< the last ones, that are averaged over; 0: too few to say
  double sound = 0, broken = 0;
  double apart = 0;     ///< mean of |broken - sound|
  double ordinary = 0;  ///< mean of |sound - sound one step before|
  bool looks_healthy = true;
};

/// All checks in the order of the enum.
std::vector<Finding> findings(const BreakReport& report);
/// The check that finds it first: by the step of training, then by the place in the pass. Nothing when none
/// does.
std::optional<Finding> first_finding(const BreakReport& report);
LossVerdict loss_verdict(const BreakReport& report);

/// One or two sentences made of the figures: which check finds it and where, and what the loss shows.
std::string how_to_see(const BreakReport& report);

}  // namespace shardlens
