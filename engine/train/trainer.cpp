// Implements the training loop.
#include "engine/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/clock.h"
#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/base/rate.h"
#include "engine/base/units.h"
#include "engine/config/model_config.h"
#include "engine/planner/break_settings.h"
#include "engine/planner/planner.h"
#include "engine/runtime/measure/ceiling.h"
#include "engine/runtime/not_finite.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/processes/process_world.h"
#include "engine/runtime/run_in_pieces.h"
#include "engine/train/checkpoint_room.h"
#include "engine/train/model_state.h"

namespace shardlens {
namespace {

Settings training_settings(Settings settings) {
  settings.block = Block::Model;
  settings.update = true;
  return settings;
}

std::string saved_text(const std::string& folder, int64_t step) {
  return step < 0 ? "No checkpoint was written"
                  : fmt::format("The last good checkpoint, of step {}, is in {}", step, folder);
}

// The saves of a run of `steps` more steps, the one at its end included.
int64_t saves_in(int64_t steps, int64_t every) {
  return 1 + (every > 0 ? (steps - 1) / every : 0);
}

// The rows of one validation pass: as many as a part of the training batch, which has room for them.
Settings validation_settings(Settings settings) {
  settings.batch /= settings.micro_batches;
  settings.micro_batches = 1;
  return settings;
}

}  // namespace

std::string rows_text(const ValidationReport& report) {
  if (report.all_rows == 0) return {};
  if (report.rows == report.all_rows) return "all " + counted(report.rows, "row");
  return fmt::format("{} of {} rows", grouped_text(report.rows), grouped_text(report.all_rows));
}

TrainOptions resume_options(const std::string& folder) {
  const TrainingState state = read_training_state(folder);
  TrainOptions options;
  options.settings = state.settings;
  options.schedule = state.schedule;
  options.steps = state.steps;
  options.checkpoint = options.resume = folder;
  return options;
}

Trainer::Trainer(TrainOptions options, std::shared_ptr<const BatchSource> training,
                 std::shared_ptr<const BatchSource> validation)
    : options_(std::move(options)), training_(std::move(training)), validation_(std::move(validation)) {
  shardlens::validate(options_.schedule);
  if (!LossScaler::is_possible(options_.first_loss_scale)) {
    throw request_error(fmt::format("a loss scale of {} is not possible; give a power of two from {} to {}",
                                    options_.first_loss_scale, LossScaler::kLowestScale,
                                    LossScaler::kLargestScale));
  }
  if (!options_.checkpoint.empty()) {
    place_ = take_checkpoint_place(options_.checkpoint);
    require_no_other_run(options_.checkpoint, options_.resume);
    hugging_face_config(options_.settings.model, options_.settings.dtype);  // throws if it cannot be written
  }
  TrainingState state;
  options_.settings = training_settings(options_.settings);
  std::unique_ptr<HeldFolder> held;
  if (!options_.resume.empty()) {
    held = hold_checkpoint(options_.resume);
    state = read_training_state(options_.resume);
    require_same_text(state, options_.text);
    options_.settings.weights_path = checkpoint_weights(options_.resume, state);
  }
  plan_ = options_.fault ? make_plan(plan_broken(options_.settings, *options_.fault, options_.fault_replica))
                         : make_plan(options_.settings);
  check_runnable(*plan_);
  const int64_t steps_left = options_.steps - state.step;
  if (!options_.checkpoint.empty() && steps_left > 0)
    require_checkpoint_room(options_.checkpoint, plan_->program,
                            saves_in(steps_left, options_.checkpoint_every));
  check_batch(options_.settings, training_->batch(0));
  if (options_.settings.dtype == DType::Fp16) scaler_.emplace(options_.first_loss_scale);
  loss_ = kept_result(plan_->program, Role::Loss);
  norm_ = kept_result(plan_->program, Role::ClipFactor);
  const bool causal = options_.settings.model.causal;
  for (const auto& rank : plan_->cost)
    for (const StepCost& cost : rank) flops_ += causal ? cost.causal_flops : cost.flops;
  flops_ *= options_.settings.dp;
  executor_ = std::make_unique<Executor>(plan_);
  executor_->wait();
  if (options_.resume.empty()) return;
  load_optimizer_state(options_.resume, state, *executor_, plan_->program);
  done_ = state.step;
  updates_ = state.iteration;
  if (scaler_) scaler_.emplace(state.loss_scale, LossScaler::kPatience, state.scale_good_steps);
  if (options_.checkpoint == options_.resume) saved_ = done_;
}

void Trainer::measure_ceiling() {
  run_whole(measure_ceiling_in_pieces());
}

Job<> Trainer::measure_ceiling_in_pieces() {
  const double flops = co_await measured_ceiling_flops(options_.settings, gemm_shapes(plan_->program, 0));
  hold_against(flops * ceilings_of_all_ranks(*plan_));
}

void Trainer::hold_against(double ceiling_flops) {
  ceiling_flops_ = std::max(ceiling_flops_, ceiling_flops);
}

void Trainer::observe(std::vector<std::shared_ptr<StepObserver>> observers) {
  observers_ = std::move(observers);
  executor_->observe(observers_);
}

PassInputs Trainer::inputs_of(int64_t step) const {
  PassInputs inputs;
  inputs.batch = std::make_shared<const Batch>(training_->batch(step - 1));
  inputs.numbers.learning_rate = options_.schedule.rate(step);
  inputs.numbers.iteration = updates_ + 1;
  inputs.numbers.draw = static_cast<uint64_t>(step);
  if (scaler_) inputs.loss_scale = scaler_->scale();
  return inputs;
}

// If the gradients' norm is not a number, the optimizer changes nothing. So the same pass can be run again,
// with a check of every tensor.
void Trainer::explain_not_finite(const PassInputs& inputs, double loss, double norm) {
  const std::string began = where_not_finite(*executor_, plan_->program, inputs, observers_);
  throw run_error(fmt::format(
      "training stopped at step {}: the loss is {} and the gradients' norm {}{}. It began here: {}. "
      "{}. A smaller learning rate or a longer warm-up may help",
      done_ + 1, number_text(loss), number_text(norm),
      scaler_ ? fmt::format(" at loss scale {}", scaler_->scale()) : "", began,
      saved_text(options_.checkpoint, saved_)));
}

StepReport Trainer::step() {
  return run_whole(step_in_pieces());
}

Job<StepReport> Trainer::step_in_pieces() {
  const Settings& settings = options_.settings;
  const PassInputs inputs = inputs_of(done_ + 1);
  check_batch(settings, *inputs.batch);
  const double begin = now_seconds();
  executor_->next_pass(inputs);
  co_await run_to_end(*executor_);
  StepReport report;
  report.seconds = now_seconds() - begin;
  report.loss = read_scalar(*executor_, plan_->program, loss_);
  report.parts = read_loss_parts(*executor_, plan_->program);
  report.gradient_norm = read_scalar(*executor_, plan_->program, norm_, 1);
  // The loss itself is not scaled: if it is no number, no other scale helps.
  const bool overflow = !std::isfinite(report.gradient_norm), has_loss = std::isfinite(report.loss);
  report.skipped = overflow && has_loss && scaler_ && !scaler_->at_lowest();
  if (!has_loss || (overflow && !report.skipped))
    explain_not_finite(inputs, report.loss, report.gradient_norm);
  report.loss_scale = inputs.loss_scale;
  if (scaler_) scaler_->step_done(report.skipped);
  ++done_;
  if (!report.skipped) ++updates_;
  ++timed_;
  timed_seconds_ += report.seconds;
  report.step = done_;
  report.learning_rate = inputs.numbers.learning_rate;
  report.tokens_per_second = per_second(static_cast<double>(settings.batch * settings.seq), report.seconds);
  report.flops_per_second = per_second(static_cast<double>(flops_), report.seconds);
  if (ceiling_flops_ > 0) {
    if (report.flops_per_second > ceiling_flops_) {
      co_await measure_ceiling_in_pieces();
      hold_against(report.flops_per_second);
    }
    report.ceiling_flops = ceiling_flops_;
    report.of_ceiling = report.flops_per_second / ceiling_flops_;
  }
  report.seconds_left =
      timed_seconds_ / static_cast<double>(timed_) * static_cast<double>(options_.steps - done_);
  co_return report;
}

ValidationReport Trainer::validate() {
  return run_whole(validate_in_pieces());
}

Job<ValidationReport> Trainer::validate_in_pieces() {
  if (!validation_) throw request_error("there is no validation text; give one, or train without validation");
  if (!validation_pass_)
    validation_pass_ = std::make_unique<ForwardPass>(validation_settings(options_.settings));
  const double begin = now_seconds();
  validation_pass_->take_weights(*executor_, plan_->program);
  ValidationReport report;
  report.step = done_;
  report.all_rows = validation_->row_count();
  report.rows =
      options_.validation_rows > 0 ? std::min(options_.validation_rows, report.all_rows) : report.all_rows;
  const int64_t at_once = validation_pass_->settings().batch;
  LossSums sums;
  try {
    for (int64_t row = 0; row < report.rows; row += at_once) {
      sums += validation_pass_->run(validation_->rows(row, std::min(at_once, report.rows - row)));
      co_await GiveWay();
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Run) throw;
    throw run_error(fmt::format("validation failed after step {}: {}. {}", done_, error.what(),
                                saved_text(options_.checkpoint, saved_)));
  }
  report.loss = sums.mean();
  report.tokens = sums.tokens;
  if (options_.settings.model.objective == Objective::MaskedWords) report.parts = sums.mean_parts();
  report.seconds = now_seconds() - begin;
  co_return report;
}

void Trainer::save() {
  if (!place_) place_ = take_checkpoint_place(options_.checkpoint);
  TrainingState state;
  state.settings = options_.settings;
  state.schedule = options_.schedule;
  state.steps = options_.steps;
  state.step = done_;
  state.iteration = updates_;
  if (scaler_) {
    state.loss_scale = scaler_->scale();
    state.scale_good_steps = scaler_->good_steps();
  }
  save_checkpoint(options_.checkpoint, state, options_.text, *executor_, plan_->program,
                  options_.shard_bytes);
  saved_ = done_;
  if (done_ >= options_.steps) place_.reset();
}

void Trainer::run(TrainObserver& observer, const std::atomic<bool>& stop) {
  while (done_ < options_.steps && !stop) {
    observer.on_step(step());
    if (is_due(options_.validate_every, done_)) observer.on_validation(validate());
    if (options_.checkpoint.empty() || !is_due(options_.checkpoint_every, done_)) continue;
    try {
      save();
      observer.on_saved(options_.checkpoint, done_);
    } catch (const Error& error) {
      observer.on_save_failed(error.what());
    }
  }
  if (options_.checkpoint.empty() || saved_ == done_) return;
  save();
  observer.on_saved(options_.checkpoint, done_);
}

}  // namespace shardlens
