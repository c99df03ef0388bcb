// The effect of a planted fault, as data: two runs of one model side by side, one of them broken on purpose,
// and for some of their steps every tensor of the broken run compared with the same pass without the fault.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/program/fault.h"
#include "engine/runtime/snapshot.h"

namespace shardlens {

/// A tensor of the broken Program compared with its right value.
struct TensorError {
  TensorId tensor = kNoTensor;
  StepId step = -1;           ///< the step that wrote it; -1: a weight, which exists before the pass
  double relative_error = 0;  ///< |broken - sound| / |sound|; for a Replicated tensor, that of the worst rank
  bool relative_to_terms = false;  ///< as in TensorParity
  bool ranks_identical = true;
  bool broken = false;          ///< beyond the bound of its dtype, or its ranks differ
  int replica = -1, rank = -1;  ///< as in TensorParity
};

/// One pass of both runs, as far as the studio shows it: what every rank held, with hashes, and the times of
/// the same pass when nothing was looked at. The three results have the same form.
struct BreakPass {
  std::shared_ptr<const Result> sound;       ///< of the sound Program
  std::shared_ptr<const Result> broken;      ///< of the broken Program
  std::shared_ptr<const Result> difference;  ///< of the broken Program: what each rank held, minus what it
                                             ///< should hold; the times are the broken run's
};

/// One compared pass. The sound Program ran it first, from the broken run's own weights and moments and on
/// the same batch. So a difference is an effect of the fault in this pass, not in earlier ones.
struct BreakProbe {
  int64_t step = 0;                 ///< training step, from 1; 0: one pass without training
  std::vector<TensorError> errors;  ///< in step order, weights first
  int first = -1;                   ///< index of the first broken one; -1: none
  Coverage coverage;
  BreakPass pass;  ///< null pointers unless BreakRequest::keeps_passes

  bool finds() const { return first >= 0; }
  const TensorError& first_error() const { return errors[static_cast<size_t>(first)]; }
};

/// Returns the collective of the sound Program that `step` of the broken one leaves out: the step is there,
/// but does nothing. Null if it leaves nothing out.
const Step* left_out_by(const Program& sound, const Step& step);

/// Returns the tensor of `program` that corresponds to a tensor of the other Program, which is broken or
/// sound: the one of the same name, else of the same value, else kNoTensor.
TensorId tensor_like(const Program& program, const Tensor& other);

/// How many tensors of a phase a probe compared, how many are broken, and the largest error.
struct Spread {
  int compared = 0, broken = 0;
  double worst = 0;
};
Spread spread(const Program& program, const BreakProbe& probe, Phase phase);

/// One training step of both runs.
struct BreakStep {
  double sound_loss = 0, broken_loss = 0;  ///< nats per token; in the broken run that of rank 0
  double sound_norm = 0, broken_norm = 0;  ///< norm of the gradients, before clipping
};

struct BreakReport {
  Fault fault = Fault::SkipF;
  std::optional<int> replica;        ///< the only one that it is planted in; none: all
  std::shared_ptr<const Plan> plan;  ///< the plan of the broken Program
  double bound = 0;                  ///< bound of a relative error; a tensor above it is broken
  int64_t wanted_steps = 0;          ///< training steps; 0: only one pass
  std::vector<BreakStep> steps;
  std::vector<std::shared_ptr<const BreakProbe>> probes;
  std::string ended;  ///< why the broken run stopped early; empty: it did not
  std::string text;   ///< the training text

  bool done() const;
};

/// What a person can check to see that something is wrong.
enum class Check {
  Activations,  ///< every weight and activation of the pass, compared with a right run
  Gradients,    ///< every gradient, compared with a right run
  Replicas,     ///< copies that must be equal on all ranks, compared with each other: needs no right run
  ClipNorm,     ///< the gradients' global norm, compared with a right run
  Loss,         ///< only the loss curve
};
std::string to_string(Check check);  ///< "gradients against a right run"

/// The result of one check over the whole report.
struct Finding {
  Check check = Check::Activations;
  bool sees = false;
  int64_t step = 0;             ///< the first step in which it finds something, as BreakProbe::step
  TensorId tensor = kNoTensor;  ///< the first wrong tensor; none for the loss
  double error = 0;             ///< its relative error
  int replica = -1, rank = -1;  ///< as in TensorParity
};

/// The distance of the loss curves at the end, compared with how much the sound curve changes from one step
/// to the next. A person who sees only the broken curve cannot see a smaller difference.
struct LossVerdict {
  int64_t steps = 0;  ///< the number of last steps that are averaged; 0: too few to judge
  double sound = 0, broken = 0;
  double apart = 0;     ///< mean of |broken - sound|
  double ordinary = 0;  ///< mean of |sound - sound one step before|
  bool looks_healthy = true;
};

/// The results of all checks, in the order of the enum.
std::vector<Finding> findings(const BreakReport& report);
/// The check that finds the fault first: by the training step, then by the place in the pass. Nothing if no
/// check finds it.
std::optional<Finding> first_finding(const BreakReport& report);
LossVerdict loss_verdict(const BreakReport& report);

/// One or more sentences with the figures: which check finds the fault and where, and what the loss shows.
std::string how_to_see(const BreakReport& report);

}  // namespace shardlens
