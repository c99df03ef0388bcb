// Training: the same Program run again and again, each pass on the next batch, with the schedule's rate. The
// trainer owns the executor and reports each step as plain data, to the command line and to the studio alike.
//
// A step is a pure function of the state before it and of its number: batch, rate and dropout masks follow
// from (seed, step). So a run that is stopped and resumed gives the same bits as one that was not.
//
// In fp16 a step whose gradients overflow is skipped. It counts as a step: its batch was read, and the
// learning rate goes on, so that N steps read N batches and end at the schedule's end, however many were
// skipped. It does not count as an update: parameters, moments and Adam's bias correction stay.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/program/fault.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/snapshot.h"
#include "engine/train/checkpoint.h"
#include "engine/train/data/batch_source.h"
#include "engine/train/loss_parts.h"
#include "engine/train/loss_scaler.h"
#include "engine/train/schedule.h"

namespace shardlens {

struct TrainOptions {
  Settings settings;  ///< the trainer sets block and update
  Schedule schedule;
  int64_t steps = 1000;             ///< the run ends after this many, counted from the first of all
  int64_t validate_every = 0;       ///< steps; 0: only where it is asked for
  int64_t validation_batches = 16;  ///< at most
  std::string checkpoint;           ///< folder; empty: nothing is saved
  int64_t checkpoint_every = 0;     ///< steps; 0: at the end alone
  std::string resume;               ///< the checkpoint to go on from; empty: from the beginning
  double first_loss_scale = LossScaler::kFirstScale;  ///< fp16 alone; a run that goes on has its own
  TrainText text;                                     ///< what a checkpoint says of the text
  std::optional<Fault> fault;  ///< planted in the Program on purpose; nothing else knows of it
};

/// What a run that goes on from `folder` must keep: settings, schedule and the number of steps; checkpoint is
/// the same folder. T, D, parts of the batch and recomputation may be changed. Throws what
/// read_training_state() throws.
TrainOptions resume_options(const std::string& folder);

/// What one step did.
struct StepReport {
  int64_t step = 0;                ///< from 1
  double loss = 0;                 ///< nats a token, mean over the batch, before the update
  std::optional<LossParts> parts;  ///< BERT: what the loss is the sum of
  double gradient_norm = 0;        ///< of the unscaled gradients, before clipping; not finite when skipped
  double learning_rate = 0;
  double loss_scale = 1;  ///< this step's loss was multiplied by it; 1 but in fp16
  bool skipped = false;   ///< the gradients overflowed, so nothing was updated on any rank
  double seconds = 0;
  double tokens_per_second = 0;
  double flops_per_second = 0;  ///< of all ranks, matrix products, masked attention left out
  double ceiling_flops = 0;     ///< the measured GEMM ceiling; 0: not measured. It may rise in a run
  double of_ceiling = 0;        ///< this step's share of it, at most 1
  double seconds_left = 0;      ///< to the last step, at the mean pace so far
};

/// Whether what is done every so many steps is done after this one; `every` 0: never.
inline bool is_due(int64_t every, int64_t step) {
  return every > 0 && step % every == 0;
}

struct ValidationReport {
  int64_t step = 0;
  double loss = 0;
  std::optional<LossParts> parts;
  double seconds = 0;
};

/// Told what happens, from the thread that runs the trainer.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_step(const StepReport& report) { (void)report; }
  virtual void on_validation(const ValidationReport& report) { (void)report; }
  virtual void on_saved(const std::string& folder, int64_t step) { (void)folder, (void)step; }
  /// The checkpoint before stands as it was, and the run goes on.
  virtual void on_save_failed(const std::string& why) { (void)why; }
};

class Trainer {
 public:
  /// Plans, checks, allocates and, resuming, reads the checkpoint. `validation` may be null. Throws a request
  /// Error for settings that cannot be trained, for a checkpoint that does not fit them, and for one that
  /// another run writes.
  Trainer(TrainOptions options, std::shared_ptr<const BatchSource> training,
          std::shared_ptr<const BatchSource> validation);

  /// Measures the GEMM ceiling of this plan's own products, so that steps can say their share of it. A step
  /// that is faster shows that it was measured while the machine was busy: it is measured again, and never
  /// is it lower than a step was fast.
  void measure_ceiling();
  /// Holds steps against a ceiling that is known, or the one there is where that is higher.
  void hold_against(double ceiling_flops);

  /// One step. Throws a run Error when the loss or a gradient is not a number, in fp16 only where a lower
  /// loss scale does not help: it names the step, the first tensor that was not, and the parameters are still
  /// those of the step before.
  StepReport step();
  /// The mean loss over the first batches of the validation text: a forward pass on a plan of its own, with
  /// the present weights and without dropout. Neither parameters nor the optimizer's state are touched.
  ValidationReport validate();
  /// Writes the checkpoint, to a place that no other run can take until the last step is saved or the trainer
  /// ends; see save_checkpoint().
  void save();
  /// Steps until options().steps are done or `stop` is set, which is looked at between steps, validating and
  /// saving when it is time. The last state is saved too.
  void run(TrainObserver& observer, const std::atomic<bool>& stop);

  /// What step `step` is fed with, as far as that is known now.
  PassInputs inputs_of(int64_t step) const;

  const TrainOptions& options() const { return options_; }
  const Plan& plan() const { return *plan_; }
  /// The same, to be kept longer than the trainer.
  std::shared_ptr<const Plan> shared_plan() const { return plan_; }
  int64_t steps_done() const { return done_; }
  int64_t updates() const { return updates_; }  ///< steps but for those that were skipped
  double ceiling_flops() const { return ceiling_flops_; }
  /// For who freezes a step and looks into it, and for saving; idle between steps.
  Executor& executor() { return *executor_; }
  const Executor& executor() const { return *executor_; }
  /// Who sees the tensors of every step from now on.
  void observe(std::vector<std::shared_ptr<StepObserver>> observers);

 private:
  [[noreturn]] void explain_not_finite(const PassInputs& inputs, double loss, double norm);

  TrainOptions options_;
  std::unique_ptr<SoleWriter> place_;  ///< of the checkpoint; null: none is written, or the last one has been
  std::shared_ptr<const BatchSource> training_, validation_;
  std::shared_ptr<const Plan> plan_, validation_plan_;
  std::vector<std::shared_ptr<StepObserver>> observers_;
  std::unique_ptr<Executor> executor_, validation_executor_;
  TensorId loss_ = kNoTensor, norm_ = kNoTensor;
  int64_t flops_ = 0;  ///< of one step, all ranks
  double ceiling_flops_ = 0;
  std::optional<LossScaler> scaler_;  ///< fp16
  int64_t done_ = 0;                  ///< steps
  int64_t updates_ = 0;
  int64_t saved_ = -1;  ///< the step of the checkpoint; -1: none yet
  int64_t timed_ = 0;   ///< steps of this process
  double timed_seconds_ = 0;
};

}  // namespace shardlens
