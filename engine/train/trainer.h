// Training runs the same Program again and again, each pass on the next batch, with the schedule's rate. The
// trainer owns the executor and reports each step as plain data, to the command line and to the studio.
//
// A step depends only on the state before it and on its number: batch, rate and dropout masks follow from
// (seed, step). So a run that is stopped and resumed gives the same bits as one that was not.
//
// In fp16 a step whose gradients overflow is skipped. It counts as a step: its batch was read, and the
// learning rate advances. So N steps read N batches and end at the schedule's end, however many were skipped.
// It does not count as an update: parameters, moments and Adam's bias correction stay the same.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/job.h"
#include "engine/program/fault.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/snapshot.h"
#include "engine/train/checkpoint.h"
#include "engine/train/data/batch_source.h"
#include "engine/train/forward_pass.h"
#include "engine/train/loss_parts.h"
#include "engine/train/loss_scaler.h"
#include "engine/train/schedule.h"

namespace shardlens {

/// What a validation reads unless it is asked for more or less.
inline constexpr int64_t kValidationRows = 128;

struct TrainOptions {
  Settings settings;  ///< the trainer sets block and update
  Schedule schedule;
  int64_t steps = 1000;        ///< the run ends after this many steps, counted from its first step ever
  int64_t validate_every = 0;  ///< steps; 0: only on request
  int64_t validation_rows = kValidationRows;  ///< the first ones of the validation text; 0: all
  std::string checkpoint;                     ///< folder; empty: nothing is saved
  int64_t checkpoint_every = 0;               ///< steps; 0: only at the end
  int64_t shard_bytes = kShardBytes;  ///< tensors of a checkpoint are written into files of at most this size
  std::string resume;                 ///< the checkpoint to resume from; empty: from the beginning
  double first_loss_scale = LossScaler::kFirstScale;  ///< fp16 only; a resumed run has its own
  TrainText text;                                     ///< what a checkpoint stores about the text
  std::optional<Fault> fault;        ///< planted in the Program on purpose; nothing else is told about it
  std::optional<int> fault_replica;  ///< the replica it is planted in; none: all
};

/// The options that a run resumed from `folder` must keep: settings, schedule and the number of steps.
/// `checkpoint` is the same folder. T, D, parts of the batch and recomputation may be changed. Throws what
/// read_training_state() throws.
TrainOptions resume_options(const std::string& folder);

/// What one step did.
struct StepReport {
  int64_t step = 0;                ///< from 1
  double loss = 0;                 ///< nats per token, mean over the batch, before the update
  std::optional<LossParts> parts;  ///< BERT: the terms of the loss
  double gradient_norm = 0;        ///< of the unscaled gradients, before clipping; not finite if skipped
  double learning_rate = 0;
  double loss_scale = 1;  ///< the factor of this step's loss; 1 except in fp16
  bool skipped = false;   ///< the gradients overflowed, so nothing was updated on any rank
  double seconds = 0;
  double tokens_per_second = 0;
  double flops_per_second = 0;  ///< of all ranks, matrix products, without the masked part of attention
  double ceiling_flops = 0;     ///< the measured GEMM ceiling; 0: not measured. It can rise during a run
  double of_ceiling = 0;        ///< this step's share of it, at most 1
  double seconds_left = 0;      ///< until the last step, at the mean speed so far
};

/// True if an action that is due every `every` steps is due after this step; `every` 0: never.
inline bool is_due(int64_t every, int64_t step) {
  return every > 0 && step % every == 0;
}

struct ValidationReport {
  int64_t step = 0;
  double loss = 0;  ///< nats per token over all rows together, so the same for every batch, T and D
  std::optional<LossParts> parts;
  double seconds = 0;
  int64_t rows = 0, all_rows = 0;  ///< read, and those of the validation text; 0: an older recording
  int64_t tokens = 0;              ///< whose loss was counted
};

/// "128 of 3,012 rows", "all 12 rows"; empty if the rows are not known.
std::string rows_text(const ValidationReport& report);

/// Receives the events of a run, on the thread that runs the trainer.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_step(const StepReport& report) { (void)report; }
  virtual void on_validation(const ValidationReport& report) { (void)report; }
  virtual void on_saved(const std::string& folder, int64_t step) { (void)folder, (void)step; }
  /// The previous checkpoint is unchanged, and the run continues.
  virtual void on_save_failed(const std::string& why) { (void)why; }
};

class Trainer {
 public:
  /// Plans, checks, allocates and, to resume, reads the checkpoint. `validation` may be null. Throws a
  /// request Error for settings that cannot be trained, for a checkpoint that does not fit them, and for one
  /// that another run writes.
  Trainer(TrainOptions options, std::shared_ptr<const BatchSource> training,
          std::shared_ptr<const BatchSource> validation);

  /// Measures the GEMM ceiling of this plan's own products, so that steps can report their share of it. If a
  /// step is faster than the ceiling, the machine was busy during the measurement. Then the ceiling is
  /// measured again, and it is at least the speed of that step.
  void measure_ceiling();
  Job<> measure_ceiling_in_pieces();  ///< the same, in pieces of a product
  /// Sets a known ceiling, unless the present one is higher.
  void hold_against(double ceiling_flops);

  /// Runs one step. Throws a run Error if the loss or a gradient is not a number; in fp16 only if a lower
  /// loss scale does not help. The error names the step and the first tensor that was not a number. The
  /// parameters are then still those of the step before.
  StepReport step();
  Job<StepReport> step_in_pieces();  ///< the same
  /// The mean loss over the first rows of the validation text: forward passes on their own plan, with the
  /// present weights and without dropout. It changes neither parameters nor the optimizer's state. Throws a
  /// run Error that names step and tensor if the loss is no number.
  ValidationReport validate();
  Job<ValidationReport> validate_in_pieces();  ///< the same, in pieces of a pass
  /// Writes the checkpoint, to a folder that no other run can reserve until the last step is saved or the
  /// trainer is destroyed; see save_checkpoint().
  void save();
  /// Names the folder for checkpoints of a run that has none.
  void save_in(const std::string& folder) { options_.checkpoint = folder; }
  /// Runs steps until options().steps are done or `stop` is set, which is checked between steps. Validates
  /// and saves when due. The last state is saved too.
  void run(TrainObserver& observer, const std::atomic<bool>& stop);

  /// The inputs of step `step`, as far as they are known now.
  PassInputs inputs_of(int64_t step) const;

  const TrainOptions& options() const { return options_; }
  const Plan& plan() const { return *plan_; }
  /// The same plan, which can outlive the trainer.
  std::shared_ptr<const Plan> shared_plan() const { return plan_; }
  int64_t steps_done() const { return done_; }
  int64_t updates() const { return updates_; }  ///< steps except those that were skipped
  double ceiling_flops() const { return ceiling_flops_; }
  /// For freezing and showing a step, and for saving. Idle between steps.
  Executor& executor() { return *executor_; }
  const Executor& executor() const { return *executor_; }
  /// Sets the observers that see the tensors of every step from now on.
  void observe(std::vector<std::shared_ptr<StepObserver>> observers);

 private:
  [[noreturn]] void explain_not_finite(const PassInputs& inputs, double loss, double norm);

  TrainOptions options_;
  std::unique_ptr<SoleWriter> place_;  ///< reserved for checkpoints; null: none is to be written
  std::shared_ptr<const BatchSource> training_, validation_;
  std::shared_ptr<const Plan> plan_;
  std::vector<std::shared_ptr<StepObserver>> observers_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<ForwardPass> validation_pass_;  ///< null before the first validation
  TensorId loss_ = kNoTensor, norm_ = kNoTensor;
  int64_t flops_ = 0;  ///< of one step, over all ranks
  double ceiling_flops_ = 0;
  std::optional<LossScaler> scaler_;  ///< fp16 only
  int64_t done_ = 0;                  ///< steps done
  int64_t updates_ = 0;
  int64_t saved_ = -1;  ///< the step of the checkpoint; -1: none yet
  int64_t timed_ = 0;   ///< steps timed in this process
  double timed_seconds_ = 0;
};

}  // namespace shardlens
