// Hands each step to the recorder when all of it is known, and chooses whether the next one is traced.
#include "engine/train/recorded_training.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/train/step_metrics.h"

namespace shardlens {

int64_t trace_every(const Settings& settings) {
  return settings.backend == BackendChoice::Cuda && settings.delays.empty() ? 2 : 1;
}

RecordedTraining::RecordedTraining(TrainObserver& watcher, Trainer& trainer, Recorder* recorder,
                                   int64_t validate_every, int64_t trace_every)
    : watcher_(watcher),
      trainer_(trainer),
      recorder_(recorder),
      validate_every_(validate_every),
      trace_every_(trace_every) {}

void RecordedTraining::take() {
  if (recorder_ == nullptr) return;
  recorder_->take(trainer_.executor(), std::move(step_), {}, step_seconds_);
  ++taken_;
  trainer_.executor().set_traced(taken_ % trace_every_ == 0);
}

void RecordedTraining::on_step(const StepReport& report) {
  step_ = metrics_of(report);
  step_seconds_ = report.seconds;
  if (!is_due(validate_every_, report.step)) take();
  watcher_.on_step(report);
}

void RecordedTraining::on_validation(const ValidationReport& report) {
  std::ranges::move(metrics_of(report), std::back_inserter(step_));
  take();
  watcher_.on_validation(report);
}

}  // namespace shardlens
