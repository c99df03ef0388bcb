// What expressions read: the plan of some settings, and what was measured when it ran. Nothing is planned or
// run before it is asked for, and then once. Used by one thread at a time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/program/fault.h"
#include "engine/runtime/parity.h"
#include "engine/runtime/snapshot.h"
#include "engine/runtime/step_times.h"
#include "engine/train/experiments/break_report.h"
#include "engine/train/trainer.h"

namespace shardlens {

inline constexpr double kMostLessonFlops = 4e11;  ///< of one pass: some seconds on two cores

/// How a lesson trains these settings, a whole model: by loss(step), and where a scene shows the curve.
TrainOptions lesson_training(const Settings& settings, int64_t steps);

class Evidence {
 public:
  Evidence(const Settings& settings, std::optional<Fault> mistake);

  const Settings& settings() const { return settings_; }
  const std::optional<Fault>& mistake() const { return mistake_; }

  /// The plan; with the mistake in it, if there is one. Throws a request Error if it cannot be planned.
  const Plan& plan();
  const Program& program() { return plan().program; }
  /// One pass, compared with T = 1: samples, errors, times. Not for a mistake.
  const Result& run();
  /// The serial run of run().
  const SerialReference& serial();
  /// The run with the mistake beside the sound one, trained for at least `steps` steps; 0: one pass. Only for
  /// a mistake.
  const BreakReport& broken(int64_t steps);
  /// What every rank held in the one pass: of the mistake's run, or of run().
  const SampleTable& samples();
  /// The loss of each of the first `steps` training steps, or more; of the broken run if a mistake is
  /// planted.
  const std::vector<double>& losses(int64_t steps);
  std::vector<double> sound_losses(int64_t steps);

 private:
  void check_size();

  Settings settings_;
  std::optional<Fault> mistake_;
  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<const Result> result_;
  std::shared_ptr<const SerialReference> serial_;
  std::optional<BreakReport> pass_report_, training_report_;
  std::vector<double> losses_;
};

/// Every Evidence that was asked for, by its settings and mistake.
class EvidenceStore {
 public:
  Evidence& of(const Settings& settings, std::optional<Fault> mistake = {});

 private:
  std::map<std::string, std::unique_ptr<Evidence>> evidence_;
};

}  // namespace shardlens
