// The recording of a training run: every step with its numbers, and which of the steps are timed.
#pragma once

#include <string>
#include <vector>

#include "engine/runtime/recordings/recorder.h"
#include "engine/train/trainer.h"

namespace shardlens {

/// Of how many steps of a recorded training one is traced. On GPUs the marks between the Program's steps cost
/// some percent of a pass, so every second pass has none. If ranks are late on purpose, every pass tells how
/// late.
int64_t trace_every(const Settings& settings);

/// Records every step of a training run together with the validation that follows it, and passes everything
/// on to the watcher.
class RecordedTraining : public TrainObserver {
 public:
  /// The first step is traced as the executor is set; after it, every `trace_every`-th one is. `recorder` may
  /// be null: then tracing stays as it is.
  RecordedTraining(TrainObserver& watcher, Trainer& trainer, Recorder* recorder, int64_t validate_every,
                   int64_t trace_every);

  void on_step(const StepReport& report) override;
  void on_validation(const ValidationReport& report) override;
  void on_saved(const std::string& folder, int64_t step) override { watcher_.on_saved(folder, step); }
  void on_save_failed(const std::string& why) override { watcher_.on_save_failed(why); }

 private:
  void take();  ///< records the step

  TrainObserver& watcher_;
  Trainer& trainer_;
  Recorder* recorder_;
  const int64_t validate_every_, trace_every_;
  int64_t taken_ = 0;
  std::vector<Metric> step_;  ///< the step that is not recorded yet, because its validation follows
  double step_seconds_ = 0;
};

}  // namespace shardlens
